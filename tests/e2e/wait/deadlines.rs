//! `--deadline`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, main_job};

use crate::jobs::{runs, update};
use crate::{LIMIT, slow};

#[test]
fn user_deadline_ends_a_job_without_its_partition() -> Result<()> {
    slow(600).run(|cluster| {
        // At submit, Slurm refuses a deadline less than a minute from now. An update may set one.
        let job = cluster.sbatch("echo it ran", &["--ipus=16", "--time=UNLIMITED", "--hold"])?;
        update(cluster, job, &["Deadline=now+12seconds"])?;
        cluster.scontrol(&["release", &job.to_string()])?;
        main_job::await_creating(cluster, job)?;
        let ended = cluster.await_end(job, Duration::from_secs(30))?;
        let told = format!("vipu: partition slurm_{job} was not there by the job's deadline");
        ensure!(ended.state == "FAILED" && ended.system_comment.contains(&told), "{ended:?}");
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        ensure!(!cluster.job_output(job).contains("it ran"));
        Ok(())
    })
}

/// Returns a time of `scontrol show job` as text.
fn time(cluster: &Cluster, job: JobId, key: &str) -> Result<String> {
    let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
    let mut words = shown.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Ok(value.with_context(|| format!("no {key} in {shown}"))?.to_owned())
}

#[test]
fn user_deadline_is_not_put_off_by_the_making_of_the_partition() -> Result<()> {
    slow(20).run(|cluster| {
        // Slurm ends the job unless it gets its nodes within 18 s. With 20 s for the create, a full minute
        // would end after the deadline.
        let options = ["--ipus=16", "--time=1", "--deadline=now+78seconds"];
        let job = cluster.sbatch("sleep 1000", &options)?;
        runs(cluster, job)?;
        let (end, deadline) = (time(cluster, job, "EndTime")?, time(cluster, job, "Deadline")?);
        ensure!(end == deadline, "it is to end at {end}, its deadline is {deadline}");
        Ok(())
    })
}
