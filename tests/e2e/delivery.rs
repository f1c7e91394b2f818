//! What a job is told of its IPUs, and what others can see of it.

use anyhow::{Result, ensure};
use testbed::{Account, main_job};

use crate::{LIMIT, quick};

#[test]
fn job_user_env_replaced() -> Result<()> {
    quick().run(|cluster| {
        let stale = [
            ("IPUOF_CONFIG_PATH", "/home/me/old.conf"),
            ("IPUOF_VIPU_API_HOST", "elsewhere"),
            ("IPUOF_VIPU_API_PARTITION_ID", "mine"),
            ("SLURM_VIPU_PARTITION", "slurm_1000"),
        ];
        let command = cluster.sbatch_command(main_job::SHOW, &["--gres=vipu:pod64:2"])?;
        let command = stale.iter().fold(command, |command, (key, value)| command.env(key, value));
        let job = cluster.submit(command)?;
        main_job::batch_ended(cluster, job, 2).map(drop)
    })
}

#[test]
fn job_without_ipus_keeps_its_environment() -> Result<()> {
    quick().run(|cluster| {
        let command = cluster.sbatch_command("env | grep ^IPUOF_ | sort", &[])?;
        let command = command.env("IPUOF_CONFIG_PATH", "/home/me/own.conf").env("IPUOF_LOG_LEVEL", "INFO");
        let job = cluster.submit(command)?;
        cluster.await_end(job, LIMIT)?;
        let output = cluster.job_output(job);
        ensure!(output == "IPUOF_CONFIG_PATH=/home/me/own.conf\nIPUOF_LOG_LEVEL=INFO\n", "{output}");
        Ok(())
    })
}

#[test]
fn job_step_without_its_own_gres_has_the_partition() -> Result<()> {
    quick().run(|cluster| {
        let script = "srun --gres=none printenv SLURM_VIPU_PARTITION\nsrun printenv IPUOF_CONFIG_PATH";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:1"])?;
        cluster.await_end(job, LIMIT)?;
        let output = cluster.job_output(job);
        ensure!(output.contains(&format!("slurm_{job}\n")), "{output}");
        ensure!(output.contains(&format!("/slurm_{job}.conf\n")), "{output}");
        Ok(())
    })
}

#[test]
fn job_user_cannot_read_others_file() -> Result<()> {
    quick().run(|cluster| {
        let (owner, other) = (Account::named("nobody")?, Account::named("daemon")?);
        let command =
            cluster.sbatch_command("cat $IPUOF_CONFIG_PATH && sleep 1000", &["--gres=vipu:pod64:2"])?;
        let job = cluster.submit(command.account(&owner))?;
        cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        let file = cluster.layout().ipuof().join(format!("slurm_{job}.conf")).display().to_string();
        let read = |account| cluster.command("cat").args(&[&file]).account(account).output();
        ensure!(read(&owner)?.stdout.contains("devices"));
        let refused = read(&other)?;
        ensure!(refused.code != 0 && refused.stdout.is_empty(), "{refused:?}");
        Ok(())
    })
}
