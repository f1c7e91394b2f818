//! Jobs that get all IPUs of a Pod: always (`Mode=whole`), or at set times (`WholeTimes`).

use std::process::Command;

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId};

use crate::LIMIT;
use crate::jobs::{cancel, ended, let_go, roomy, running, runs, staying};

/// The local clock, so many minutes from now, as in `08:30`.
fn clock(minutes: i64) -> Result<String> {
    let output = Command::new("date").args(["+%H:%M", "--date", &format!("{minutes} minutes")]).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn waits_with(cluster: &Cluster, job: JobId, reason: &str) -> Result<()> {
    cluster.await_job(job, reason, LIMIT, |job| job.reason.contains(reason)).map(drop)
}

#[test]
fn mode_whole_gives_each_job_the_whole_pod() -> Result<()> {
    roomy().vipu_conf("Mode=whole").run(|cluster| {
        let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?.output()?;
        let line = "vipu: jobs on pod64 get all 64 IPUs of a Pod; valid: --gres=vipu:pod64:64";
        ensure!(refused.code != 0 && refused.stderr.contains(line), "{refused:?}");
        let first = running(cluster, 64, &[])?;
        let second = staying(cluster, 64, &[])?;
        waits_with(cluster, second, "64_IPUs_of_pod64_needed,_0_free")?;
        let_go(cluster, first)?;
        runs(cluster, second)?;
        let_go(cluster, second)
    })
}

/// A job that was accepted before keeps its partition, or waits with the reason.
#[test]
fn mode_whole_comes_while_jobs_of_other_sizes_run() -> Result<()> {
    roomy().run(|cluster| {
        let before = running(cluster, 16, &[])?;
        let other = staying(cluster, 64, &["--dependency=singleton", "--job-name=x"])?;
        let too_small = staying(cluster, 32, &["--hold"])?;
        cluster.write_vipu_conf(&["Mode=whole"])?;
        cluster.reconfigure()?;
        waits_with(cluster, other, "64_IPUs_of_pod64_needed,_48_free")?;
        cluster.scontrol(&["release", &too_small.to_string()])?;
        waits_with(cluster, too_small, "jobs_on_pod64_get_all_64_IPUs")?;
        let_go(cluster, before)?;
        ended(cluster, before, "COMPLETED")?;
        runs(cluster, other)?;
        let_go(cluster, other)?;
        cancel(cluster, too_small)
    })
}

#[test]
fn mode_whole_times_are_for_the_largest_jobs() -> Result<()> {
    let now = format!("WholeTimes=\"daily {}-{}\"", clock(-60)?, clock(60)?);
    roomy().vipu_conf(&now).run(|cluster| {
        let small = staying(cluster, 16, &["--time=5"])?;
        waits_with(cluster, small, "in_which_pod64_is_for_the_largest_jobs:_daily")?;
        let whole = running(cluster, 64, &["--time=10"])?;
        let_go(cluster, whole)?;
        ended(cluster, whole, "COMPLETED")?;
        waits_with(cluster, small, "in_which_pod64_is_for_the_largest_jobs:_daily")?;
        // The time begins in an hour. The Pod has to be empty then.
        let later = format!("WholeTimes=\"daily {}-{}\"", clock(60)?, clock(120)?);
        cluster.write_vipu_conf(&[&later])?;
        cluster.reconfigure()?;
        runs(cluster, small)?;
        let too_long = staying(cluster, 16, &["--time=90"])?;
        waits_with(cluster, too_long, "in_which_pod64_is_for_the_largest_jobs:_daily")?;
        let_go(cluster, small)?;
        cancel(cluster, too_long)
    })
}
