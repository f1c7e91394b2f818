#!/bin/sh
# Gives the job a free file.
size=$(cat /run/size.$SLURM_JOB_ID)
file=$(ls /srv/free/$size | head -n 1)
[ -n "$file" ] || exit 1
mv /srv/free/$size/$file /srv/used/$SLURM_JOB_ID
logger "$SLURM_JOB_PARTITION"
