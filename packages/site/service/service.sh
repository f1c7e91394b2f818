#!/bin/bash
# service.sh
#SBATCH --job-name=model
#SBATCH --array=0-99%4
#SBATCH --ipus=4
#SBATCH --time=1-00:00:00
#SBATCH --signal=B:USR1@3600
#SBATCH --requeue
#SBATCH --ipu-requeue-on=any
#SBATCH --open-mode=append

port=$((8000 + SLURM_ARRAY_TASK_ID))
renew() {
    # Not all instances at once. In the background, so that scancel ends the wait, too.
    (sleep $((SLURM_ARRAY_TASK_ID % 12 * 240)) && scontrol requeue "$SLURM_JOB_ID") &
}
# Before the server starts: until then, a TERM would end bash, and the server with it.
trap renew USR1   # the time limit is near
trap : TERM       # Slurm tells the server to end, too: wait for it

python3 serve.py --port=$port &
server=$!

healthy() { curl --fail --silent --max-time 20 --output /dev/null "http://localhost:$port/health"; }
watch() {
    until healthy; do sleep 5; done   # a model takes time to load
    while healthy; do sleep 30; done
    kill -KILL $server
}
watch &

while kill -0 $server 2> /dev/null; do
    wait $server
done
wait $server
