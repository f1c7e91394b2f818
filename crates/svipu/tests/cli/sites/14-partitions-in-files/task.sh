#!/bin/sh
echo export IPUOF_CONFIG_PATH=/srv/used/$SLURM_JOB_ID
