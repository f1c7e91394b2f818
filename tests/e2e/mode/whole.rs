//! Jobs that get all IPUs of a Pod: always (`Mode=whole`), or at set times (`WholeTimes`).

use std::process::Command;

use crate::jobs::{cancel, ended, let_go, roomy, running, runs, staying, waits};
use anyhow::{Result, ensure};

/// The local clock, so many minutes from now, as in `08:30`.
fn clock(minutes: i64) -> Result<String> {
    let output = Command::new("date").args(["+%H:%M", "--date", &format!("{minutes} minutes")]).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
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
        waits(cluster, other, "64 IPUs of pod64 needed, 48 free")?;
        cluster.scontrol(&["release", &too_small.to_string()])?;
        waits(cluster, too_small, "jobs on pod64 get all 64 IPUs")?;
        let_go(cluster, before)?;
        ended(cluster, before, "COMPLETED")?;
        runs(cluster, other)?;
        let_go(cluster, other)?;
        let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?.output()?;
        let line = "vipu: jobs on pod64 get all 64 IPUs of a Pod; valid: --gres=vipu:pod64:64";
        ensure!(refused.code != 0 && refused.stderr.contains(line), "{refused:?}");
        cancel(cluster, too_small)
    })
}

#[test]
fn mode_whole_times_are_for_the_largest_jobs() -> Result<()> {
    let now = format!("WholeTimes=\"daily {}-{}\"", clock(-60)?, clock(60)?);
    roomy().vipu_conf(&now).run(|cluster| {
        let small = staying(cluster, 16, &["--time=5"])?;
        waits(cluster, small, "in which pod64 is for the largest jobs: daily")?;
        let whole = running(cluster, 64, &["--time=10"])?;
        let_go(cluster, whole)?;
        ended(cluster, whole, "COMPLETED")?;
        waits(cluster, small, "in which pod64 is for the largest jobs: daily")?;
        // The time begins in an hour. The Pod has to be empty then.
        let later = format!("WholeTimes=\"daily {}-{}\"", clock(60)?, clock(120)?);
        cluster.write_vipu_conf(&[&later])?;
        cluster.reconfigure()?;
        runs(cluster, small)?;
        let too_long = staying(cluster, 16, &["--time=90"])?;
        waits(cluster, too_long, "in which pod64 is for the largest jobs: daily")?;
        let_go(cluster, small)?;
        cancel(cluster, too_long)
    })
}
