#!/usr/bin/env bash
# The job script of the session. Its kernels find the IPUs of the job.

# The address of Open OnDemand at your site. Jupyter refuses kernels to pages of other servers.
portal=https://ondemand.example.org

# Open OnDemand submits with --export=NONE. Without this line, srun in a notebook gets no PATH.
export SLURM_EXPORT_ENV=ALL

# Here your site loads JupyterLab and Poplar, for example: module load poplar/3.4.0

cd "$HOME" || exit
exec jupyter lab --no-browser --ip=0.0.0.0 --port="$port" --ServerApp.port_retries=0 \
    --ServerApp.base_url="/node/$host/$port/" --ServerApp.allow_origin="$portal"
