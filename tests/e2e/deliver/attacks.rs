//! Attacks of a local user on others: forged variables, odd requests.

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, JobId, main_job};

use super::{other, owner};
use crate::jobs::{cancel, restart_slurmctld};
use crate::{LIMIT, quick};

const LOOK: &str = "cat $IPUOF_CONFIG_PATH && echo looked && sleep 1000";

/// Submits a job with IPUs that reads its file and stays.
fn look(cluster: &Cluster, account: &Account) -> Result<JobId> {
    let job = cluster.submit(cluster.sbatch_command(LOOK, &["--gres=vipu:pod64:2"])?.account(account))?;
    testbed::wait_until("the job to have read its file", LIMIT, || {
        let output = cluster.job_output(job);
        ensure!(!cluster.job(job)?.is_over(), "it ended: {output}");
        Ok(output.contains("looked"))
    })?;
    ensure!(cluster.job_output(job).contains("devices"), "{}", cluster.job_output(job));
    Ok(job)
}

#[test]
fn user_forged_variables_give_nothing() -> Result<()> {
    // If a forged grant keeps a task from starting, the node's log says this.
    quick().expect_log("no IPUs: partition slurm_1").run(|cluster| {
        let (owner, other) = (owner()?, other()?);
        let victim = look(cluster, &owner)?;
        let file = cluster.layout().ipuof().join(format!("slurm_{victim}.conf")).display().to_string();
        let script = "cat $IPUOF_CONFIG_PATH; cat $FILE; env | grep -E '^(SPANK|SLURM_VIPU|IPUOF)_'; true";
        for gres in [&[][..], &["--gres=vipu:pod64:1"]] {
            let job = JobId(cluster.jobs()?.iter().map(|job| job.id.0).max().unwrap_or(0) + 1);
            let forged = format!("slurm_{victim},pod64,2,1");
            let command = cluster.sbatch_command(script, gres)?.account(&other);
            let command = command
                .env(&format!("SLURM_VIPU_JOB_{job}"), &forged)
                .env(&format!("SPANK_SLURM_VIPU_JOB_{job}"), &forged)
                .env("SLURM_SPANK_IPUOF_DIR", "/")
                .env("SPANK_IPUOF_CONFIG_PATH", &file)
                .env("IPUOF_CONFIG_PATH", &file)
                .env("IPUOF_VIPU_API_PARTITION_ID", &format!("slurm_{victim}"))
                .env("SLURM_VIPU_PARTITION", &format!("slurm_{victim}"))
                .env("FILE", &file);
            ensure!(cluster.submit(command)? == job);
            cluster.await_end(job, LIMIT)?;
            let output = cluster.job_output(job);
            let own = format!("slurm_{job}.conf");
            // The job may read its own file.
            let shown = if gres.is_empty() { 0 } else { 1 };
            ensure!(output.matches("devices").count() == shown, "{output}");
            ensure!(gres.is_empty() || output.contains(&own), "{output}");
        }
        // A slurmctld that comes back does not take a forged variable for a grant either.
        let job = JobId(cluster.jobs()?.iter().map(|job| job.id.0).max().unwrap_or(0) + 1);
        let forged = format!("slurm_{victim},pod64,2,1");
        let command = cluster.sbatch_command("true", &[])?.account(&other);
        ensure!(cluster.submit(command.env(&format!("SLURM_VIPU_JOB_{job}"), &forged))? == job);
        cluster.await_end(job, LIMIT)?;
        cluster.await_saved()?;
        restart_slurmctld(cluster)?;
        ensure!(cluster.job(victim)?.state == "RUNNING");
        ensure!(cluster.mock().partitions()? == [format!("slurm_{victim}")]);
        let read = cluster.command("cat").args(&[&file]).account(&other).output()?;
        ensure!(read.stdout.is_empty(), "{read:?}");
        Ok(())
    })
}

#[test]
fn user_odd_requests_are_refused_in_few_words() -> Result<()> {
    quick().run(|cluster| {
        let (owner, other) = (owner()?, other()?);
        let long = "x".repeat(1 << 20);
        // With 1 MiB of commas, sbatch does not return within a minute.
        let commas = ",".repeat(1 << 12);
        for request in [
            format!("vipu:{long}:1"),
            format!("vipu:pod64:{}", "1".repeat(1 << 20)),
            format!("vipu:pod64:1{commas}vipu:2"),
            "vipu:pod\u{1b}[31m64:1".to_owned(),
            "vipu:pod\u{7}64:1".to_owned(),
            "vipu:\u{202e}46dop:1".to_owned(),
            "vipu:pod64:-1".to_owned(),
            "vipu:pod64:18446744073709551616".to_owned(),
        ] {
            let script = format!("#SBATCH --gres={request}\ntrue");
            let refused = cluster.sbatch_command(&script, &[])?.account(&other).output()?;
            let start: String = request.chars().take(30).collect();
            ensure!(refused.code != 0, "{start:?} was taken");
            // Only the lines of slurm-vipu count, not those of sbatch about its arguments.
            let ours: Vec<_> = refused.stderr.lines().filter(|line| line.contains("error: vipu: ")).collect();
            testbed::say(format!("{start:?}: {} lines of ours, {} bytes", ours.len(), refused.stderr.len()));
            for line in ours {
                ensure!(line.len() < 1000, "{start:?}: {} bytes said", line.len());
                ensure!(!line.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{start:?}: {line:?}");
            }
        }
        ensure!(cluster.slurmctld_log().lines().all(|line| line.len() < 10_000));
        let job = cluster
            .submit(cluster.sbatch_command(main_job::SHOW, &["--gres=vipu:pod64:1"])?.account(&owner))?;
        main_job::batch_ended(cluster, job, 1).map(drop)
    })
}

/// No request in a job without IPUs switches the plugin off, not even in the only job of slurmctld: neither
/// when slurmctld looks at its first waiting job, nor when it adopts the jobs of an earlier slurmctld.
#[test]
fn user_strange_requests_switch_nothing_off() -> Result<()> {
    quick().run(|cluster| {
        let owner = owner()?;
        let far = ["--begin=uts2000000000000"];
        let mut begins = vec![cluster.submit(cluster.sbatch_command("true", &far)?.account(&owner))?];
        restart_slurmctld(cluster)?;
        begins.push(cluster.submit(cluster.sbatch_command("true", &far)?.account(&owner))?);
        main_job::sbatch(cluster, 4)?;
        begins.into_iter().try_for_each(|job| cancel(cluster, job))
    })
}
