//! vipu.conf when it is missing, broken and mended, and its keys.

use std::fs;

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job, programs, wait_until};

use crate::jobs::{ended, restart_slurmctld, waits};
use crate::{LIMIT, quick};

/// Slurm and jobs without IPUs run. An IPU job says why it waits, and starts once vipu.conf is mended.
#[test]
fn job_conf_missing_then_mended() -> Result<()> {
    quick().without_vipu_conf().expect_log("error: ").run(|cluster| {
        main_job::start_delay(cluster)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        waits(cluster, job, "vipu.conf")?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        main_job::batch_ended(cluster, job, 4).map(drop)
    })
}

/// Waits until slurmctld has saved the text of vipu.conf for the next slurmctld. A separate thread saves it.
fn await_kept(cluster: &Cluster) -> Result<()> {
    let text = fs::read(cluster.layout().conf("vipu.conf"))?;
    let kept = cluster.layout().state().join("vipu_conf.pod64");
    wait_until("slurmctld to keep vipu.conf", LIMIT, || Ok(fs::read(&kept).is_ok_and(|kept| kept == text)))
}

/// Runs an IPU job and checks that its partition has this prefix.
fn runs_with_prefix(cluster: &Cluster, prefix: &str) -> Result<()> {
    let job = cluster.sbatch("true", &["--gres=vipu:pod64:2"])?;
    ended(cluster, job, "COMPLETED")?;
    cluster.mock().record(&format!("{prefix}_{job}")).map(drop)
}

/// Checks that one line of slurmctld's log names the mistake and says that the earlier settings stay in
/// force.
fn tells_what_holds(cluster: &Cluster, mistake: &str) -> Result<()> {
    let log = cluster.slurmctld_log();
    let told = |line: &str| line.contains("the earlier settings stay in force") && line.contains(mistake);
    ensure!(log.lines().any(told), "no line says that the earlier settings stay in force: {mistake}");
    Ok(())
}

/// Checks that svipu names the mistake, and shows the settings in force instead of those of the file.
fn shows_what_is_kept(cluster: &Cluster) -> Result<()> {
    let svipu = programs::find("svipu")?.display().to_string();
    let kept = cluster.layout().state().join("vipu_conf.pod64");
    let in_force = format!("in force: these values, kept in {}", kept.display());
    let mistake = "with an error, the earlier settings are in force: pod64.conf:1: unknown key";
    wait_until("the error in svipu conf show", LIMIT, || {
        let text = cluster.command(&svipu).args(&["conf", "show"]).success()?.stdout;
        let row = |line: &str| line.split_whitespace().take(2).eq(["PartitionPrefix", "last"]);
        Ok(text.contains(mistake) && text.contains(&in_force) && text.lines().any(row))
    })
}

#[test]
fn job_conf_broken_later_or_at_a_restart_keeps_the_last_good_settings() -> Result<()> {
    let settings = quick().vipu_conf("PartitionPrefix=first");
    settings.expect_log("the earlier settings stay in force").run(|cluster| {
        cluster.write_vipu_conf(&["PartitionPrefix=last"])?;
        cluster.reconfigure()?;
        await_kept(cluster)?;
        let (text, mistake) = ("Nonsense=1\n", "unknown key 'Nonsense'");
        cluster.write_vipu_conf_text(text)?;
        cluster.reconfigure()?;
        runs_with_prefix(cluster, "last")?;
        tells_what_holds(cluster, mistake)?;
        shows_what_is_kept(cluster)?;
        restart_slurmctld(cluster)?;
        runs_with_prefix(cluster, "last")?;
        tells_what_holds(cluster, mistake)?;
        // A missing file counts as broken, too. The saved text outlives every restart.
        fs::remove_file(cluster.layout().conf("vipu.conf"))?;
        restart_slurmctld(cluster)?;
        runs_with_prefix(cluster, "last")?;
        tells_what_holds(cluster, "does not exist")
    })
}
