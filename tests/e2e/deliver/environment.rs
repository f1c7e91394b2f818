//! The variables that a job gets for its IPUs, and the view of other users.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use anyhow::{Context as _, Result, ensure};
use testbed::main_job;

use crate::jobs::{ended, runs, update, waits_again};
use crate::quick;

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
fn job_beyond_one_domain_has_a_file_for_each_gcd() -> Result<()> {
    let pod128 = "vipu:pod128:no_consume:128";
    let settings = quick().mock(&["--ipus", "128"]).vipu_conf("MaxIpusPerJob=128").extra_gres(pod128);
    settings.run(|cluster| {
        let script = "srun --ntasks=2 bash -c 'echo \"$SLURM_PROCID $IPUOF_CONFIG_PATH $(wc -c <$IPUOF_CONFIG_PATH)\"'";
        let job = cluster.sbatch(script, &["--gres=vipu:pod128:128", "--ntasks=2"])?;
        ended(cluster, job, "COMPLETED")?;
        let output = cluster.job_output(job);
        for rank in ["0", "1"] {
            let line = output.lines().find(|line| line.starts_with(rank));
            let file = format!("/slurm_{job}_gcd{rank}.conf ");
            ensure!(line.is_some_and(|line| line.contains(&file)), "{output}");
        }
        Ok(())
    })
}

#[test]
fn job_that_drops_its_ipus_runs_without() -> Result<()> {
    quick().run(|cluster| {
        let script =
            "env | grep -c -E '^(IPUOF_|SLURM_VIPU_)' || true\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:8", "--requeue"])?;
        runs(cluster, job)?;
        cluster.scontrol(&["requeuehold", &job.to_string()])?;
        waits_again(cluster, job, 1)?;
        update(cluster, job, &["Gres=", "StartTime=now"])?;
        cluster.scontrol(&["release", &job.to_string()])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.job_output(job) == "0\n", "{}", cluster.job_output(job));
        Ok(())
    })
}

/// With `use_interactive_step`, salloc's shell is a task on the job's first node.
#[test]
fn user_shell_of_salloc_on_a_node_has_the_variables() -> Result<()> {
    quick().slurm_conf("LaunchParameters=use_interactive_step").run(|cluster| {
        let shell = cluster.layout().jobs().join("shell");
        fs::write(&shell, "#!/bin/bash\nenv\n")?;
        fs::set_permissions(&shell, Permissions::from_mode(0o755))?;
        // salloc starts a shell at a terminal only.
        let typed = format!("SHELL={} salloc --ipus=4 --ipu-gcds=2", shell.display());
        let output = cluster.command("script").args(&["-qec", &typed, "/dev/null"]).success()?.stdout;
        for line in ["SLURM_PROCID=0", "/slurm_1_gcd0.conf", "SLURM_VIPU_GCD=0", "SLURM_VIPU_POPRUN="] {
            ensure!(output.contains(line), "{line}: {output}");
        }
        let job = cluster.jobs()?.first().context("salloc made no job")?.id;
        ended(cluster, job, "COMPLETED").map(drop)
    })
}
