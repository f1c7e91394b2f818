//! The end of idle partitions.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{
    Cluster, JobId,
    main_job::{SHOW, Shown, partition_name},
    wait_until,
};

use super::{are_idle, keep_no_longer, keeping, made};
use crate::LIMIT;
use crate::jobs::{ended, restart_slurmctld, roomy};

fn leaves_one(cluster: &Cluster, ipus: u32) -> Result<JobId> {
    let job = cluster.sbatch(SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    ended(cluster, job, "COMPLETED")?;
    are_idle(cluster, &[job])?;
    Ok(job)
}

fn none_is_left(cluster: &Cluster) -> Result<()> {
    wait_until("no partition to be there", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))
}

/// An idle partition is removed for a job of another size, which has to wait for that.
#[test]
fn reuse_makes_way_for_another_size() -> Result<()> {
    keeping("always").remove_time(Duration::from_secs(1)).run(|cluster| {
        let small = leaves_one(cluster, 4)?;
        // There is room beside it.
        let half = cluster.sbatch(SHOW, &["--gres=vipu:pod64:32"])?;
        ended(cluster, half, "COMPLETED")?;
        are_idle(cluster, &[small, half])?;
        let whole = cluster.sbatch(SHOW, &["--gres=vipu:pod64:64"])?;
        ended(cluster, whole, "COMPLETED")?;
        are_idle(cluster, &[whole])?;
        // The controller was not asked before there was room.
        ensure!(!cluster.slurmctld_log().contains("; trying again"), "a call failed");
        keep_no_longer(cluster)
    })
}

#[test]
fn reuse_ends_after_its_time() -> Result<()> {
    roomy().vipu_conf("KeepIdle=3").vipu_conf("KeepIdleFor=any-job").vipu_conf("ReconcileInterval=1").run(
        |cluster| {
            leaves_one(cluster, 4)?;
            none_is_left(cluster)
        },
    )
}

#[test]
fn reuse_keeps_no_more_than_allowed() -> Result<()> {
    keeping("always").vipu_conf("KeepIdleMax=16").run(|cluster| {
        let first = leaves_one(cluster, 8)?;
        let second = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
        ended(cluster, second, "COMPLETED")?;
        are_idle(cluster, &[first, second])?;
        // This one needs all that is allowed.
        leaves_one(cluster, 16)?;
        keep_no_longer(cluster)
    })
}

#[test]
fn reuse_after_a_failed_reset_makes_a_new_partition() -> Result<()> {
    keeping("always").run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::ResetError { text: "link broken".into() }).times(1))?;
        let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
        ended(cluster, job, "COMPLETED")?;
        none_is_left(cluster)?;
        let log = cluster.slurmctld_log();
        ensure!(log.contains("is removed and does not stay idle") && log.contains("link broken"), "{log}");
        leaves_one(cluster, 4)?;
        keep_no_longer(cluster)
    })
}

/// Somebody removes an idle partition by hand. The next job gets one all the same.
#[test]
fn reuse_of_a_partition_that_vanished_makes_it_anew() -> Result<()> {
    keeping("always").run(|cluster| {
        let first = leaves_one(cluster, 4)?;
        cluster.mock().cause(Incident::Vanish { partition: partition_name(first, 0) })?;
        let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
        ended(cluster, job, "COMPLETED")?;
        Shown::parse(&cluster.job_output(job))?;
        ensure!(made(cluster)? == 2);
        keep_no_longer(cluster)
    })
}

/// A slurmctld that starts removes what is idle. It does not know who may have it.
#[test]
fn reuse_leaves_nothing_to_the_next_slurmctld() -> Result<()> {
    keeping("always").run(|cluster| {
        leaves_one(cluster, 4)?;
        restart_slurmctld(cluster)?;
        none_is_left(cluster)?;
        leaves_one(cluster, 4)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        none_is_left(cluster)
    })
}
