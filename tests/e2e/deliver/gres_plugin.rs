//! `gres_vipu.so`: the check of a node's own configuration, steps without IPUs, and a cluster without the
//! plugin.

use anyhow::{Result, ensure};
use testbed::{Cluster, wait_until};

use crate::{LIMIT, quick};

/// Prints one line for the batch script and for each of its steps: how many variables of the job's IPUs it
/// sees.
const STEPS: &str = "
shown() { env | grep -E '^(IPUOF_|SLURM_VIPU_(PARTITION|IPUS|MODEL|CONTROLLER|STEP_WITHOUT)=)' | wc -l; }
export -f shown
echo batch $(shown)
echo inherits $(srun bash -c shown)
echo none $(IPUOF_VIPU_API_HOST=mine srun --gres=none bash -c shown)
echo own $(srun --gres=vipu:pod64:1 bash -c shown)
echo beneath $(srun --gres=none --overlap bash -c 'srun --overlap bash -c shown')
";

/// The counts: a path and the four variables of `Grant`, or nothing.
const SHOWN: [&str; 5] = ["batch 5", "inherits 5", "none 0", "own 5", "beneath 5"];

fn steps_see_what_they_asked_for(cluster: &Cluster) -> Result<()> {
    let job = cluster.sbatch(STEPS, &["--gres=vipu:pod64:1"])?;
    cluster.await_end(job, LIMIT)?;
    let output = cluster.job_output(job);
    // srun may print that it has to try again.
    let shown: Vec<_> = output.lines().filter(|line| !line.starts_with("srun: ")).collect();
    ensure!(shown == SHOWN, "{output}");
    Ok(())
}

#[test]
fn user_gres_is_loaded_and_steps_see_their_ipus_only() -> Result<()> {
    quick().run(|cluster| {
        ensure!(cluster.slurmctld()?.has_loaded("gres_vipu.so")?, "slurmctld has not loaded it");
        let told = || cluster.node_log(1).matches("gres/vipu: this node offers vipu:pod64:64").count();
        let at_start = told();
        ensure!(at_start > 0, "slurmd says nothing");
        let job = cluster.sbatch("grep -c gres_vipu.so /proc/$PPID/maps", &[])?;
        cluster.await_end(job, LIMIT)?;
        ensure!(cluster.job_output(job) != "0\n", "slurmstepd has not loaded it");
        steps_see_what_they_asked_for(cluster)?;
        // Slurm closes the plugin and opens it again.
        cluster.reconfigure()?;
        wait_until("slurmd to look again", LIMIT, || Ok(told() > at_start))?;
        cluster.await_nodes()?;
        // Slurm logs an error for a plugin that it refuses or that differs from its expectation.
        for log in [cluster.node_log(1), cluster.slurmctld_log()] {
            let mut errors = log.lines().filter(|line| line.contains("error:") && line.contains("gres"));
            ensure!(errors.next().is_none(), "{log}");
        }
        Ok(())
    })
}

#[test]
fn user_gres_is_not_needed() -> Result<()> {
    quick().without_gres_plugin().run(|cluster| {
        let log = cluster.node_log(1);
        ensure!(
            log.contains("gres/vipu only tracks gres counts") || log.contains("just track gres counts"),
            "{log}"
        );
        steps_see_what_they_asked_for(cluster)
    })
}

#[test]
fn user_gres_without_the_plugstack_line_ends_jobs_with_ipus() -> Result<()> {
    let line = "plugstack.conf does not load spank_ipuof.so: ";
    let settings = quick().slurm_conf("SlurmctldParameters=enable_configless").without_spank_line();
    settings.expect_log(line).run(|cluster| {
        let told = |log: &str, part: &str| log.lines().any(|it| it.contains(line) && it.contains(part));
        let log = cluster.node_log(1);
        ensure!(told(&log, "error: gres/vipu: ") && told(&log, "the line: required spank_ipuof.so"), "{log}");
        wait_until("slurmctld to tell of it", LIMIT, || {
            Ok(told(&cluster.slurmctld_log(), "error: select/vipu: ")
                && told(&cluster.slurmctld_log(), "(enable_configless)"))
        })?;
        let cause = "plugstack.conf does not load it: svipu doctor on the node says which line it needs";
        let (job, srun) = (["--gres=vipu:pod64:1"], ["--gres=vipu:pod64:1", "echo", "ran"]);
        let batch = cluster.sbatch("echo ran", &job)?;
        ensure!(cluster.await_end(batch, LIMIT)?.state == "FAILED");
        let output = cluster.job_output(batch);
        ensure!(output.contains(cause) && !output.contains("ran"), "{output}");
        let step = cluster.command("srun").args(&srun).output()?;
        ensure!(step.code == 1 && step.stderr.contains(cause) && step.stdout.is_empty(), "{step:?}");
        // The node stays in service for other jobs, also for those with an inherited grant.
        let other = cluster.command("srun").env("SLURM_VIPU_JOB_1", "x").args(&["echo", "ran"]).success()?;
        ensure!(other.stdout == "ran\n", "{other:?}");
        Ok(())
    })
}
