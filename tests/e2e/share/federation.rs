//! Two Slurm clusters with one slurmdbd, which share one controller: `sbatch -M` and a federation.

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, Settings, main_job, wait_until};

use crate::LIMIT;
use crate::jobs::{brisk, cancel, ended};

/// Slurm's lines about a cluster that has not heard of the federation yet, and about a job that was cancelled before the
/// other cluster had heard of it.
const EARLY: [&str; 2] = ["fed_mgr", "failed to find job_record for fed JobId"];

/// Runs a test on two clusters that know each other.
fn two_clusters(test: impl Fn(&Cluster, &Cluster) -> Result<()>) -> Result<()> {
    let brisk = || EARLY.into_iter().fold(brisk(), Settings::expect_log);
    brisk().accounting().vipu_conf("PartitionPrefix=first").run(|first| {
        let conf = first.scontrol(&["show", "config"])?;
        let of_first = |key: &str| {
            let line = conf.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix("= "));
            line.map(|value| format!("{key}={value}")).with_context(|| format!("no {key}: {conf}"))
        };
        let mut settings = brisk().vipu_conf(&first.api_host(&[0])).vipu_conf("PartitionPrefix=second");
        for key in ["AuthInfo", "AccountingStorageType", "AccountingStoragePort", "AccountingStorageTRES"] {
            settings = settings.slurm_conf(&of_first(key)?);
        }
        settings = settings.slurm_conf("AccountingStorageHost=localhost");
        settings =
            settings.slurm_conf(&of_first("AuthInfo")?.replace("AuthInfo=socket=", "AccountingStoragePass="));
        settings.run(|second| {
            wait_until("the clusters to know each other", LIMIT, || {
                let squeue = first.command("squeue").args(&["-M", &name(second)?]).output()?;
                Ok(squeue.code == 0)
            })?;
            test(first, second)
        })
    })
}

fn name(cluster: &Cluster) -> Result<String> {
    let conf = cluster.scontrol(&["show", "config"])?;
    let line = conf.lines().find_map(|line| line.strip_prefix("ClusterName")?.split_whitespace().last());
    Ok(line.context("no ClusterName")?.to_owned())
}

#[test]
fn job_of_another_cluster_gets_ipus_there() -> Result<()> {
    two_clusters(|first, second| {
        let sbatch = first.sbatch_command(main_job::SHOW, &["-M", &name(second)?, "--gres=vipu:pod64:16"])?;
        let job: JobId = sbatch.success()?.stdout.parse()?;
        ended(second, job, "COMPLETED")?;
        let made = first.mock().report()?.partitions;
        ensure!(made.len() == 1 && made[0].id == format!("second_{job}"), "{made:?}");
        // The refusal is that of the other cluster.
        let refused =
            first.sbatch_command("true", &["-M", &name(second)?, "--gres=vipu:pod64:3"])?.output()?;
        ensure!(refused.code != 0 && refused.stderr.contains("3 IPUs is not a power of two"), "{refused:?}");
        Ok(())
    })
}

#[test]
fn sched_federation_starts_a_job_once() -> Result<()> {
    two_clusters(|first, second| {
        let names = format!("clusters={},{}", name(first)?, name(second)?);
        first.command("sacctmgr").args(&["-i", "add", "federation", "both", &names]).success()?;
        for cluster in [first, second] {
            wait_until("the federation to stand", LIMIT, || {
                let shown = cluster.scontrol(&["show", "federation"])?;
                Ok(shown.contains("Persistent connections ready") || shown.matches("Yes/Yes").count() == 1)
            })?;
        }
        // There is room for all: a cluster whose IPUs another one takes requeues the job, with Slurm's pause. A cluster forgets a
        // job that another one has started.
        let sbatch =
            || first.sbatch_command(main_job::SHOW, &["--gres=vipu:pod64:8"])?.success()?.stdout.parse();
        let jobs: Vec<JobId> = (0..6).map(|_| sbatch()).collect::<Result<_>>()?;
        cancel(first, jobs[5])?;
        let completed = |job: &JobId| -> Result<usize> {
            let show = ["--local", "show", "job", &job.to_string()];
            // The other cluster may know its job no more.
            let shown = |cluster: &Cluster| Ok(cluster.command("scontrol").args(&show).output()?.stdout);
            let shown: Result<Vec<_>> = [first, second].into_iter().map(shown).collect();
            Ok(shown?.concat().matches("JobState=COMPLETED").count())
        };
        for job in &jobs[..5] {
            wait_until(&format!("job {job} to end"), LIMIT, || Ok(completed(job)? == 1))?;
        }
        let made = first.mock().report()?.partitions;
        for job in &jobs[..5] {
            let of_job = made.iter().filter(|made| made.id.contains(&format!("_{job}"))).count();
            ensure!(of_job == 1, "{job}: {made:?}");
        }
        ensure!(first.mock().partitions()?.is_empty());
        Ok(())
    })
}
