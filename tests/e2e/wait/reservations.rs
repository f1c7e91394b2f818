//! Advance reservations of nodes.

use anyhow::{Result, ensure};
use testbed::Cluster;

use crate::jobs::{brisk, expected_at, ipus, let_go, running_for, runs, submit, waits};

const NODE: &str = "ipu-pod64-001";

fn reserve(cluster: &Cluster, what: &[&str]) -> Result<()> {
    let create = ["create", "reservation", "ReservationName=ours", "Users=root"];
    cluster.scontrol(&[&create, what].concat()).map(drop)
}

#[test]
fn sched_reservation_goes_first() -> Result<()> {
    brisk().nodes(2).run(|cluster| {
        reserve(cluster, &[&format!("Nodes={NODE}"), "StartTime=now", "Duration=300"])?;
        let half = running_for(cluster, 32, 60, &[])?;
        ensure!(cluster.job(half)?.nodes != NODE, "it is reserved");
        let reserved = ipus(cluster, 64, 60, &["--reservation=ours", "--priority=1000"])?;
        waits(cluster, reserved, "vipu: 64 IPUs of pod64 needed, 32 free")?;
        // Slurm lets the jobs of a reservation go first, whatever their priority.
        let other = ipus(cluster, 1, 90, &["--priority=2000"])?;
        waits(cluster, other, &format!("vipu: IPUs of pod64 are kept for job {reserved}"))?;
        let short = running_for(cluster, 1, 10, &["--priority=2000"])?;
        // No other job gets the node of the reservation, as in stock Slurm.
        let plain = submit(cluster, &[&format!("--nodelist={NODE}"), "--priority=2000"])?;
        waits(cluster, plain, "eserv")?;
        let_go(cluster, half)?;
        let_go(cluster, short)?;
        runs(cluster, reserved)?;
        ensure!(cluster.job(reserved)?.nodes == NODE);
        waits(cluster, plain, "eserv")
    })
}

#[test]
fn sched_reservation_keeps_others_from_its_nodes() -> Result<()> {
    brisk().nodes(2).run(|cluster| {
        reserve(cluster, &["Nodes=ALL", "StartTime=now+30minutes", "Duration=60"])?;
        let late = ipus(cluster, 64, 60, &[])?;
        expected_at(cluster, late, cluster.end_of_reservation("ours")?)?;
        // The IPUs are free for others before that.
        running_for(cluster, 64, 10, &[]).map(drop)
    })
}
