//! The variables that a job gets for its IPUs, and the view of other users.

use anyhow::{Context as _, Result, ensure};
use testbed::{next_second, write_program};

use crate::jobs::{ended, runs, update, waits_again};
use crate::quick;

#[test]
fn job_that_drops_its_ipus_runs_without() -> Result<()> {
    quick().run(|cluster| {
        let script =
            "env | grep -c -E '^(IPUOF_|SLURM_VIPU_)' || true\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:8", "--requeue"])?;
        runs(cluster, job)?;
        cluster.scontrol(&["requeuehold", &job.to_string()])?;
        waits_again(cluster, job, 1)?;
        next_second()?;
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
        write_program(&shell, "#!/bin/bash\nenv\n")?;
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
