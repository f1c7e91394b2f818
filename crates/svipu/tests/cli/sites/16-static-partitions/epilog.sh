#!/bin/sh
rm -rf /tmp/job
vipu remove partition p$SLURM_JOB_ID
