//! vipu.conf missing, broken, mended, and its keys.

use std::fs;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobId, Settings, main_job, wait_until};

use crate::{LIMIT, quick};

/// Slurm runs, jobs without IPUs run, an IPU job says `why` and starts once vipu.conf is mended.
fn waits_until_mended(settings: Settings, why: &str) -> Result<()> {
    settings.expect_log("error: ").run(|cluster| {
        main_job::start_delay(cluster)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        let spaced = |reason: &str| reason.replace('_', " ");
        cluster.await_job(job, "to say why", LIMIT, |job| spaced(&job.reason).contains(why))?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        main_job::batch_ended(cluster, job, 4).map(drop)
    })
}

#[test]
fn job_conf_missing_then_mended() -> Result<()> {
    waits_until_mended(quick().without_vipu_conf(), "vipu.conf")
}

#[test]
fn job_conf_broken_then_mended() -> Result<()> {
    waits_until_mended(quick().broken_vipu_conf("ApiHost=127.0.0.1\nApiProt=8090\n"), "did you mean ApiPort")
}

/// Waits until slurmctld has kept the text of vipu.conf for the next one, which it does on a thread of its own.
fn await_kept(cluster: &Cluster) -> Result<()> {
    let text = fs::read(cluster.layout().conf("vipu.conf"))?;
    let kept = cluster.layout().state().join("vipu_conf.pod64");
    wait_until("slurmctld to keep vipu.conf", LIMIT, || Ok(fs::read(&kept).is_ok_and(|kept| kept == text)))
}

/// An IPU job runs, in a partition with this prefix.
fn runs_with_prefix(cluster: &Cluster, prefix: &str) -> Result<()> {
    let job = cluster.sbatch("true", &["--gres=vipu:pod64:2"])?;
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == "COMPLETED", "{ended:?}");
    cluster.mock().record(&format!("{prefix}_{job}")).map(drop)
}

/// slurmctld's log tells, in one line, the file's mistake and what becomes of it.
fn tells_what_holds(cluster: &Cluster, mistake: &str) -> Result<()> {
    let log = cluster.slurmctld_log();
    let told = |line: &str| line.contains("the earlier settings stay in force") && line.contains(mistake);
    ensure!(log.lines().any(told), "no line says that the earlier settings stay in force: {mistake}");
    Ok(())
}

/// A cluster whose slurmctld finds a broken vipu.conf after a good one.
fn broken_later() -> Settings {
    quick().expect_log("the earlier settings stay in force")
}

/// As vipu.conf, what slurmctld finds fault with by these words.
const BROKEN: (&str, &str) = ("Nonsense=1\n", "unknown key 'Nonsense'");

#[test]
fn job_conf_broken_later_keeps_the_old_settings() -> Result<()> {
    broken_later().run(|cluster| {
        await_kept(cluster)?;
        let (text, mistake) = BROKEN;
        cluster.write_vipu_conf_text(text)?;
        cluster.reconfigure()?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:2"])?;
        main_job::batch_ended(cluster, job, 2)?;
        tells_what_holds(cluster, mistake)
    })
}

#[test]
fn job_conf_broken_at_a_restart_keeps_the_last_good_settings() -> Result<()> {
    broken_later().vipu_conf("PartitionPrefix=first").run(|cluster| {
        cluster.write_vipu_conf(&["PartitionPrefix=last"])?;
        cluster.reconfigure()?;
        await_kept(cluster)?;
        let (text, mistake) = BROKEN;
        cluster.write_vipu_conf_text(text)?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        runs_with_prefix(cluster, "last")?;
        tells_what_holds(cluster, mistake)?;
        // A file that is not there is broken, too; the text that was kept outlives every restart.
        fs::remove_file(cluster.layout().conf("vipu.conf"))?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        runs_with_prefix(cluster, "last")?;
        tells_what_holds(cluster, "does not exist")
    })
}

#[test]
fn job_conf_broken_at_a_takeover_keeps_the_last_good_settings() -> Result<()> {
    // In a slurmctld that took over, Slurm's main scheduler may have ended: backfill starts what waits.
    broken_later().backup().slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        await_kept(cluster)?;
        cluster.write_vipu_conf_text(BROKEN.0)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.await_takeover()?;
        runs_with_prefix(cluster, "slurm")
    })
}

/// Ends a job whose partition cannot be removed unless forced.
/// What else has Slurm tell its selector to look again puts no file in force that somebody is editing.
#[test]
fn job_conf_takes_effect_with_a_reconfigure_only() -> Result<()> {
    quick().run(|cluster| {
        cluster.write_vipu_conf(&["PartitionPrefix=other"])?;
        let partitions = cluster.command("sinfo").args(&["-h", "-o", "%R"]).success()?.stdout;
        let partition = partitions.lines().next().unwrap_or_default();
        cluster.scontrol(&["setdebugflags", "+Backfill"])?;
        cluster.scontrol(&["update", &format!("PartitionName={partition}"), "GraceTime=1"])?;
        runs_with_prefix(cluster, "slurm")?;
        cluster.reconfigure()?;
        runs_with_prefix(cluster, "other")
    })
}

fn end_stubborn(cluster: &Cluster) -> Result<JobId> {
    cluster
        .mock()
        .inject(Fault::new(Effect::RemoveFail { text: "agent ag1 does not answer".into() }).times(2))?;
    let job = cluster.sbatch("true", &["--gres=vipu:pod64:4"])?;
    cluster.await_end(job, LIMIT)?;
    Ok(job)
}

#[test]
fn job_force_delete() -> Result<()> {
    quick().vipu_conf("ForceDeletePartition=1").run(|cluster| {
        let job = end_stubborn(cluster)?;
        let record = cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        let failed = record.events.iter().any(|event| event.operation == "POS_FAILED");
        ensure!(!failed, "{record:?}");
        Ok(())
    })
}

#[test]
fn job_delete_without_force_is_retried() -> Result<()> {
    quick().expect_log("agent ag1 does not answer").run(|cluster| {
        let job = end_stubborn(cluster)?;
        let record = cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        let failures = record.events.iter().filter(|event| event.operation == "POS_FAILED").count();
        ensure!(failures == 2, "{record:?}");
        Ok(())
    })
}

#[test]
fn job_use_reconfig() -> Result<()> {
    for (lines, reconfigurable) in [(vec![], "false"), (vec!["UseReconfigPartition=1"], "true")] {
        let settings = lines.into_iter().fold(quick(), Settings::vipu_conf);
        settings.run(|cluster| {
            let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
            cluster.await_end(job, LIMIT)?;
            let shown = main_job::Shown::parse(&cluster.job_output(job))?;
            let attribute = shown.file.attributes.get("Fabric Reconfigurable");
            ensure!(attribute.is_some_and(|value| value == reconfigurable), "{:?}", shown.file.attributes);
            Ok(())
        })?;
    }
    Ok(())
}
