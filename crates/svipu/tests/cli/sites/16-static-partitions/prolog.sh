#!/bin/sh
# IPUs
set -e
PART=p$SLURM_JOB_ID
vipu create partition $PART --size 16
exit 0
