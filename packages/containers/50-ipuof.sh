#!/usr/bin/env bash
# /etc/enroot/hooks.d/50-ipuof.sh: gives an enroot container the IPUs of the job step in which it starts.
set -euo pipefail

if [ -z "${IPUOF_CONFIG_PATH-}${IPUOF_VIPU_API_PARTITION_ID-}" ]; then
    exit 0
fi

for name in $(compgen -e IPUOF_) $(compgen -e SLURM_VIPU_); do
    printf '%s=%s\n' "${name}" "${!name}" >> "${ENROOT_ENVIRON}"
done
if [ -n "${IPUOF_CONFIG_PATH-}" ]; then
    printf '%s x-create=dir,bind,ro,nosuid,nodev\n' "$(dirname "${IPUOF_CONFIG_PATH}")" >> "${ENROOT_MOUNTS}"
fi
if [ -d /dev/infiniband ]; then
    printf '%s x-create=dir,rbind,rw,nosuid,noexec\n' /dev/infiniband >> "${ENROOT_MOUNTS}"
fi
