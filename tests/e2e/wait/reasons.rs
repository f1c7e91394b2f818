//! squeue's column of reasons names what an IPU job really waits for.

use anyhow::{Result, ensure};
use testbed::Cluster;

use crate::LIMIT;
use crate::queued_jobs::{brisk, ipus, let_go, roomy, running, runs, submit, waits, without_backfill};

#[test]
fn sched_reason_is_the_limit_of_the_model() -> Result<()> {
    brisk().run(|cluster| {
        let job = ipus(cluster, 32, 60, &["--hold"])?;
        cluster.write_vipu_conf(&["MaxIpusPerJob=16"])?;
        cluster.reconfigure()?;
        cluster.scontrol(&["release", &job.to_string()])?;
        waits(cluster, job, "vipu: a job on pod64 gets at most 16 IPUs")?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        runs(cluster, job)
    })
}

#[test]
fn sched_reason_is_the_broken_file() -> Result<()> {
    brisk().broken_vipu_conf("Nonsense=1\n").expect_log("Nonsense").run(|cluster| {
        let job = ipus(cluster, 4, 60, &[])?;
        waits(cluster, job, "vipu: pod64: pod64.conf:1: unknown key 'Nonsense'")?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        runs(cluster, job)
    })
}

#[test]
fn sched_reason_is_the_controller() -> Result<()> {
    brisk().vipu_conf("ApiTimeout=2").run(|cluster| {
        running(cluster, 4, 60, &[])?;
        cluster.mock().refuse()?;
        cluster.reconfigure()?;
        let job = ipus(cluster, 64, 60, &[])?;
        waits(cluster, job, "vipu: pod64: controller 127.0.0.1:")?;
        cluster.mock().clear()?;
        // From then on it is the IPUs.
        waits(cluster, job, "vipu: 64 IPUs of pod64 needed, 60 free, largest block 32")
    })
}

#[test]
fn sched_reason_goes_when_it_is_over() -> Result<()> {
    // The main scheduler looks at the first two jobs, and at no more for an hour.
    let parameters = "SchedulerParameters=bf_interval=3600,sched_interval=3600,default_queue_depth=1";
    let settings = roomy().slurm_conf(parameters);
    settings.vipu_conf("ApiTimeout=2").run(|cluster| {
        let runs = running(cluster, 4, 60, &[])?;
        cluster.mock().refuse()?;
        cluster.reconfigure()?;
        let behind = ipus(cluster, 64, 60, &["--priority=1000"])?;
        waits(cluster, behind, "vipu: pod64: controller 127.0.0.1:")?;
        for _ in 0..4 {
            ipus(cluster, 64, 60, &["--priority=2000"])?;
        }
        // The controller answers again.
        cluster.mock().clear()?;
        let full = "vipu: 64 IPUs of pod64 needed, 60 free, largest block 32";
        waits(cluster, behind, full)?;
        // An earlier slurmctld gave it.
        cluster.await_saved()?;
        cluster.stop_slurmctld()?;
        cluster.write_vipu_conf(&["MaxIpusPerJob=16"])?;
        cluster.start_slurmctld()?;
        waits(cluster, behind, "vipu: a job on pod64 gets at most 16 IPUs")?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        waits(cluster, behind, full)?;
        let_go(cluster, runs)
    })
}

/// Nobody but backfill looks at who is behind a job that waits for nodes.
fn behind_who_waits_for_cpus(cluster: &Cluster) -> Result<()> {
    submit(cluster, &["--cpus-per-task=4", "--priority=2000"]).map(drop)
}

#[test]
fn sched_reason_is_told_by_backfill_too() -> Result<()> {
    brisk().cpus(4).run(|cluster| {
        let whole = running(cluster, 64, 60, &[])?;
        behind_who_waits_for_cpus(cluster)?;
        let full = ipus(cluster, 1, 10, &["--priority=1000"])?;
        waits(cluster, full, "vipu: 1 IPU of pod64 needed, 0 free, largest block 0")?;
        let_go(cluster, whole)
    })
}

#[test]
fn sched_reason_of_srun() -> Result<()> {
    without_backfill().run(|cluster| {
        let whole = running(cluster, 64, 60, &[])?;
        let srun =
            cluster.command("srun").args(&["--gres=vipu:pod64:1", "--job-name=attended", "echo", "ran"]);
        let srun = srun.start()?;
        let job = cluster.await_job_named("attended", LIMIT)?;
        waits(cluster, job, "vipu: 1 IPU of pod64 needed, 0 free, largest block 0")?;
        let_go(cluster, whole)?;
        ensure!(srun.success(LIMIT)?.stdout == "ran\n");
        Ok(())
    })
}
