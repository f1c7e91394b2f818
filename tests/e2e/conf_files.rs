//! vipu.conf missing, broken, mended, and its keys.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobId, Settings, main_job};

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

#[test]
fn job_conf_broken_later_keeps_the_old_settings() -> Result<()> {
    quick().expect_log("unknown key").run(|cluster| {
        cluster.write_vipu_conf_text("Nonsense=1\n")?;
        cluster.reconfigure()?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:2"])?;
        main_job::batch_ended(cluster, job, 2)?;
        ensure!(cluster.slurmctld_log().contains("unknown key 'Nonsense'"));
        Ok(())
    })
}

/// Ends a job whose partition cannot be removed unless forced.
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
