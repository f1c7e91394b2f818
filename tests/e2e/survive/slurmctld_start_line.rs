//! The line in slurmctld's log after a start.

use std::fs;

use anyhow::{Result, ensure};
use testbed::{Cluster, wait_until};

use crate::{LIMIT, quick};

/// Returns the start lines up to now.
fn lines(cluster: &Cluster) -> Vec<String> {
    let log = cluster.slurmctld_log();
    log.lines().filter(|line| line.contains("select/vipu: slurm-vipu ")).map(str::to_owned).collect()
}

/// Returns the start line that follows the first `count`.
fn line_after(cluster: &Cluster, count: usize) -> Result<String> {
    wait_until("the start line", LIMIT, || Ok(lines(cluster).len() > count))?;
    lines(cluster).pop().ok_or_else(|| anyhow::anyhow!("there is none"))
}

#[test]
fn job_start_is_told_in_one_line() -> Result<()> {
    quick().expect_log("is not the directory that was in use").expect_log("StatusDir: ").run(|cluster| {
        let line = line_after(cluster, 0)?;
        let (port, layout) = (cluster.mock().port(), cluster.layout());
        for part in [
            " over select/cons_tres; ".to_owned(),
            format!("model pod64: controller 127.0.0.1:{port} answers (64 IPUs), "),
            format!("IpuofDir {} writable; ", layout.ipuof().display()),
            format!("journal {} (0 partitions)", layout.state().join("vipu_journal").display()),
        ] {
            ensure!(line.contains(&part), "{line}: no {part}");
        }
        // The controller is away: an error line, and the start line, say this.
        cluster.stop_slurmctld()?;
        cluster.mock().refuse()?;
        cluster.start_slurmctld()?;
        let line = line_after(cluster, 1)?;
        ensure!(line.contains(&format!("controller 127.0.0.1:{port} is away (")), "{line}");
        let log = cluster.slurmctld_log();
        ensure!(
            log.matches("error: select/vipu: no IPU job of model pod64 can start there: ").count() == 1,
            "{log}"
        );
        cluster.mock().clear()?;
        // Only the mount point of IpuofDir is there.
        cluster.stop_slurmctld()?;
        let (directory, away) = (layout.ipuof(), layout.ipuof().with_extension("away"));
        fs::rename(&directory, &away)?;
        fs::create_dir(&directory)?;
        cluster.start_slurmctld()?;
        let line = line_after(cluster, 2)?;
        ensure!(line.contains("answers (64 IPUs), NO JOB CAN START: IpuofDir: "), "{line}");
        fs::remove_dir(&directory)?;
        fs::rename(&away, &directory)?;
        Ok(())
    })
}
