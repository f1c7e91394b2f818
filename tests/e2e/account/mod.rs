//! Slurm's accounting, with slurmdbd and MariaDB.

mod database;
mod qos;

use anyhow::Result;
use testbed::{Cluster, Settings, wait_until};

use crate::{LIMIT, quick};

/// A cluster with slurmdbd, where only users with an association may submit jobs.
fn enforcing() -> Settings {
    quick().accounting().slurm_conf("AccountingStorageEnforce=associations,limits,qos")
}

/// Gives root the account lab, with these QOS. The first is the default.
fn add_root(cluster: &Cluster, qos: &[&str]) -> Result<()> {
    wait_until("slurmctld to register with slurmdbd", LIMIT, || {
        let shown = cluster.command("sacctmgr").args(&["-nP", "show", "cluster", "format=ControlPort"]);
        Ok(shown.success()?.stdout.trim().parse().is_ok_and(|port: u16| port != 0))
    })?;
    for name in qos.iter().filter(|name| **name != "normal") {
        sacctmgr(cluster, &["add", "qos", name])?;
    }
    sacctmgr(cluster, &["add", "account", "lab"])?;
    let (all, first) = (format!("qos={}", qos.join(",")), format!("defaultqos={}", qos[0]));
    sacctmgr(cluster, &["add", "user", "root", "account=lab", &all, &first])?;
    let has_association = || {
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc", "users=root"])?;
        Ok(shown.contains("Account=lab"))
    };
    wait_until("the association in slurmctld", LIMIT, has_association)
}

fn sacctmgr(cluster: &Cluster, args: &[&str]) -> Result<()> {
    cluster.command("sacctmgr").args(&["-i"]).args(args).success().map(drop)
}
