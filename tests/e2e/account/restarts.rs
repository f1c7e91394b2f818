//! The number of IPUs after a crash, a restart or a reconfigure of slurmctld.

use anyhow::{Result, ensure};

use super::{add_root, enforcing, shows, uses, was_recorded};
use crate::jobs::{cancel, ipus, let_go, restart_slurmctld, running, waits};

#[test]
fn acct_usage_is_the_same_after_each_way_to_start_again() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        super::limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let jobs = [running(cluster, 16, &["-qlimited"])?, running(cluster, 16, &["-qlimited", "-N2"])?];
        let third = ipus(cluster, 16, 10, &["-qlimited"])?;
        let same = || {
            jobs.iter().try_for_each(|job| shows(cluster, *job, 16))?;
            uses(cluster, "limited", 32)?;
            waits(cluster, third, "QOSMaxGRESPerUser")
        };
        same()?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        same()?;
        restart_slurmctld(cluster)?;
        same()?;
        cluster.reconfigure()?;
        same()?;
        cancel(cluster, third)?;
        jobs.iter().try_for_each(|job| let_go(cluster, *job))?;
        uses(cluster, "limited", 0)?;
        jobs.iter().try_for_each(|job| was_recorded(cluster, *job, 16))?;
        nodes_have_all_their_ipus(cluster)
    })
}

/// Checks that a job with all IPUs can start, and that no node shows any as in use.
fn nodes_have_all_their_ipus(cluster: &testbed::Cluster) -> Result<()> {
    let shown = cluster.scontrol(&["show", "node"])?;
    let used =
        shown.lines().filter(|line| line.trim_start().starts_with("AllocTRES=") && line.contains("vipu"));
    let used: Vec<_> = used.collect();
    ensure!(used.is_empty(), "no job runs, and nodes show {used:?}");
    let all = running(cluster, 64, &[])?;
    let_go(cluster, all)
}
