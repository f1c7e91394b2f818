#!/bin/bash
# Becomes the part of the cluster that the first argument names; anything else is run as it is.
set -euo pipefail

as() { # as USER COMMAND...
    exec setpriv --reuid="$1" --regid="$1" --init-groups -- "${@:2}"
}

has_files() {
    [[ -e /opt/vipu/$1 ]] && return
    echo "There is no /opt/vipu/$1. Run 'cargo xtask image', or let VIPU_FILES name the folder that has it." >&2
    exit 1
}

# What the volumes that all share begin with.
setup() {
    [[ -e /cluster/keys/munge.key ]] || head --bytes=1024 /dev/urandom > /cluster/keys/munge.key
    install -d -o slurm -g slurm -m 0755 /ipuof
    install -d -o alice -g alice -m 0750 /home/alice
}

vipu() {
    has_files bin/mock-vipu-server
    install -d -o nobody /var/lib/vipu
    cd /var/lib/vipu
    exec setpriv --reuid=nobody --clear-groups -- /opt/vipu/bin/mock-vipu-server --preset pod64 --state-file pod.json \
        --listen 0.0.0.0:8090 --control 0.0.0.0:8091 --create-latency "$VIPU_CREATE"
}

db() {
    local data=/var/lib/mysql # forky has another default
    install -d -o mysql -g mysql "$data" /run/mysqld
    [[ -e $data/mysql ]] || mariadb-install-db --user=mysql --datadir="$data" --auth-root-authentication-method=socket > /dev/null
    cat > /run/mysqld/init.sql <<-SQL
		CREATE DATABASE IF NOT EXISTS slurm_acct_db;
		CREATE USER IF NOT EXISTS 'slurm'@'%' IDENTIFIED BY 'slurm';
		GRANT ALL ON slurm_acct_db.* TO 'slurm'@'%';
	SQL
    exec mariadbd --user=mysql --datadir="$data" --init-file=/run/mysqld/init.sql \
        --bind-address=0.0.0.0 --skip-name-resolve --loose-innodb-snapshot-isolation=OFF
}

# What every host of a Slurm cluster has.
slurm_host() {
    has_files plugins/select_vipu.so
    install -o munge -g munge -m 0400 /cluster/keys/munge.key /etc/munge/munge.key
    install -d -o munge -g munge /run/munge
    install -d -o slurm -g slurm /run/slurm
}

# The files in /etc/slurm, of hosts that slurmctld does not send them to.
configuration() {
    # Links, so that `scontrol reconfigure` sees what was edited outside.
    ln --symbolic --force /cluster/etc/*.conf /etc/slurm/
    # Nothing is constrained here, and cgroups are not the containers' to write.
    case $(slurmd -V) in
        *' 22.05.'*) echo CgroupPlugin=cgroup/v1 ;;
        *) echo CgroupPlugin=disabled ;;
    esac > /etc/slurm/cgroup.conf
}

# Returns when munge answers, as munged does.
start_munge() {
    (as munge munged)
}

slurmdbd() {
    slurm_host
    configuration
    start_munge
    # It wants the file with the password to be its own: no link, which install replaces.
    install -o slurm -g slurm -m 0600 /cluster/etc/slurmdbd.conf /etc/slurm/slurmdbd.conf
    as slurm slurmdbd -D
}

slurmctld() {
    slurm_host
    configuration
    start_munge
    install -d -o slurm -g slurm -m 0700 /var/spool/slurmctld
    # In its first minutes slurmctld has not written all of its state yet, and 26.05 refuses to go on from what a killed one
    # left then, unless told to ignore what is missing.
    local ignore=()
    [[ -e /var/spool/slurmctld/assoc_usage ]] || ignore=(-i)
    as slurm slurmctld -D "${ignore[@]}"
}

node() {
    slurm_host
    configuration
    start_munge
    install -d /var/spool/slurmd
    exec slurmd -D
}

# A node without files in /etc/slurm, into which Debian's package puts an empty plugstack.conf.
configless-node() {
    rm --recursive --force /etc/slurm/*
    slurm_host
    start_munge
    install -d /var/spool/slurmd
    # Without its files slurmd ends if slurmctld does not answer yet.
    until true 2> /dev/null > /dev/tcp/slurmctld/6817; do sleep 1; done
    exec slurmd -D --conf-server slurmctld
}

login() {
    slurm_host
    configuration
    as munge munged --foreground
}

case "$1" in
    setup | vipu | db | slurmdbd | slurmctld | node | configless-node | login) "$1" ;;
    *) exec "$@" ;;
esac
