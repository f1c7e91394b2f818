//! The use of QOS and associations while jobs are preempted.

use anyhow::{Result, ensure};
use testbed::Cluster;

use super::{add_root, enforcing, limit, sacctmgr, shows, uses};
use crate::jobs::{begin_again, ipus, let_go, running, runs, waits_again};

/// Checks the IPUs in use of root's association and of both QOS.
fn all_use(cluster: &Cluster, quota: u64, surplus: u64) -> Result<()> {
    uses(cluster, "normal", quota)?;
    uses(cluster, "surplus", surplus)?;
    let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc", "users=root"])?;
    let both = format!("gres/vipu=N({0}),gres/vipu:pod64=N({0})", quota + surplus);
    ensure!(shown.contains(&both), "the association does not use {both}: {shown}");
    Ok(())
}

#[test]
fn acct_use_follows_a_job_that_is_preempted_and_starts_again() -> Result<()> {
    let settings = enforcing().nodes(2).slurm_conf("PreemptType=preempt/qos");
    settings.slurm_conf("PreemptMode=REQUEUE").run(|cluster| {
        add_root(cluster, &["normal", "surplus"])?;
        sacctmgr(cluster, &["modify", "qos", "normal", "set", "Preempt=surplus"])?;
        limit(cluster, "surplus", "Priority=0")?;
        let surplus = running(cluster, 64, &["-qsurplus", "-N2", "--requeue"])?;
        all_use(cluster, 0, 64)?;
        let quota = ipus(cluster, 32, 10, &["-qnormal", "-N2"])?;
        runs(cluster, quota)?;
        waits_again(cluster, surplus, 1)?;
        all_use(cluster, 32, 0)?;
        let_go(cluster, quota)?;
        all_use(cluster, 0, 0)?;
        begin_again(cluster, surplus)?;
        runs(cluster, surplus)?;
        shows(cluster, surplus, 64)?;
        all_use(cluster, 0, 64)?;
        let_go(cluster, surplus)?;
        all_use(cluster, 0, 0)
    })
}
