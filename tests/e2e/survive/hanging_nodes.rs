//! slurmctld is killed behind the launch of a batch job whose node hangs.

use std::fs;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testbed::{Cluster, SavedJobs, Settings, main_job, permit, process::Process, wait_until, write_program};

use super::killed_behind_a_launch::{
    Watch, begin_as_restart, ends_after_two_runs, saved_before_its_start, saved_in_line,
};
use super::marked_script::{IPUS, begins, has_launch_on_record, launched, patient};
use crate::LIMIT;
use crate::jobs::{gone, logged, partition};

/// A cluster of which a node does not answer the question which jobs run there.
fn with_hanging_node() -> Settings {
    let settings = patient().expect_log("not responding").expect_log("Socket timed out");
    // Slurm hears of a run that it has in line.
    settings.expect_log("Registered PENDING").expect_log("slurmctld and slurmd out of sync")
}

/// Lets the first node hang, kills slurmctld, and starts it. Returns the node's slurmd.
fn killed_while_the_node_hangs(cluster: &Cluster, saved: &SavedJobs) -> Result<Process> {
    let slurmd = cluster.slurmd(1)?;
    slurmd.signal(Signal::STOP)?;
    cluster.kill_slurmctld_back_at(saved)?;
    cluster.start_slurmctld_without_nodes()?;
    Ok(slurmd)
}

#[test]
fn job_restart_slurmctld_that_knows_a_launched_job_as_waiting_and_a_user_holds_it() -> Result<()> {
    with_hanging_node().run(|cluster| {
        let (job, saved, process) = saved_in_line(cluster, "--requeue")?;
        let slurmd = killed_while_the_node_hangs(cluster, &saved)?;
        cluster.scontrol(&["hold", &job.to_string()])?;
        slurmd.signal(Signal::CONT)?;
        wait_until("the end of the first script", LIMIT, || Ok(!process.exists()))?;
        wait_until("its next run to be known", LIMIT, || Ok(cluster.job(job)?.restarts == 1))?;
        cluster.scontrol(&["release", &job.to_string()])?;
        begin_as_restart(cluster, job)?;
        ends_after_two_runs(cluster, job)
    })
}

/// A node that does not answer may still run the script.
#[test]
fn job_restart_slurmctld_keeps_the_partition_of_a_launched_job_until_its_node_is_down() -> Result<()> {
    // The node may come back before the next run.
    with_hanging_node().nodes(2).expect_log("on wrong node").run(|cluster| {
        let (job, saved, _) = saved_in_line(cluster, "--requeue")?;
        let nodes = cluster.job(job)?.nodes;
        ensure!(nodes == "ipu-pod64-001", "{nodes}");
        let slurmd = killed_while_the_node_hangs(cluster, &saved)?;
        // Everything that a start of slurmctld does at once is done when another job has come and gone.
        let other = cluster.sbatch(main_job::SHOW, &[IPUS, "--nodelist=ipu-pod64-002"])?;
        main_job::batch_ended(cluster, other, 16)?;
        let kept = cluster.mock().record(&partition(job))?;
        ensure!(kept.remove_request.is_none(), "its node has not answered: {kept:?}");
        ensure!(begins(cluster, job)?.len() == 1, "{:?}", begins(cluster, job)?);
        cluster.update_node(1, &["State=DOWN", "Reason=test"])?;
        gone(cluster, job, 0)?;
        wait_until("the next run", LIMIT, || Ok(cluster.job(job)?.restarts == 1))?;
        slurmd.signal(Signal::CONT)?;
        cluster.await_slurmctld()
    })
}

/// Its first answer comes while it still runs the Prolog of the job, and does not name the job.
#[test]
fn job_restart_slurmctld_asks_a_node_that_hung_until_it_had_time_to_begin_the_script() -> Result<()> {
    let folder = tempfile::tempdir()?;
    permit(folder.path(), 0o755)?;
    let [prolog, began, go] = ["prolog", "began", "go"].map(|name| folder.path().join(name));
    let script = format!("touch {}; until [ -e {} ]; do sleep 0.1; done", began.display(), go.display());
    write_program(&prolog, &format!("#!/bin/sh\n{script}\n"))?;
    with_hanging_node().slurm_conf(&format!("Prolog={}", prolog.display())).run(|cluster| {
        let (job, saved) = saved_before_its_start(cluster, &[IPUS, "--requeue"])?;
        wait_until("its launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 0))?;
        wait_until("its Prolog to begin", LIMIT, || Ok(began.exists()))?;
        let slurmd = killed_while_the_node_hangs(cluster, &saved)?;
        logged(cluster, "Socket timed out")?;
        slurmd.signal(Signal::CONT)?;
        cluster.await_slurmctld()?;
        fs::write(&go, "")?;
        let watch = Watch::begin(job, launched(cluster, job)?);
        watch.partition_stayed(cluster)?;
        begin_as_restart(cluster, job)?;
        ends_after_two_runs(cluster, job)
    })
}
