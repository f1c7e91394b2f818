//! Ends of jobs that leave something behind.

use anyhow::{Result, ensure};
use testbed::wait_until;

use crate::LIMIT;
use crate::jobs::{brisk, ended, gone, running, there_are};

#[test]
fn job_unclean_end_of_the_epilog_leaves_no_partition() -> Result<()> {
    let epilog = "Epilog=/bin/false";
    brisk().slurm_conf(epilog).expect_log("pilog").run(|cluster| {
        let job = cluster.sbatch("true", &["--gres=vipu:pod64:16"])?;
        ended(cluster, job, "COMPLETED")?;
        gone(cluster, job, 0)?;
        // Slurm drains the node, as always.
        cluster.await_node(1, |state| state.contains("DRAIN"))
    })
}

#[test]
fn job_unclean_end_of_the_script_leaves_no_partition() -> Result<()> {
    brisk().run(|cluster| {
        let job = running(cluster, 16, &[])?;
        cluster.command("scancel").args(&["--signal=KILL", "--full", &job.to_string()]).success()?;
        let killed = cluster.await_end(job, LIMIT)?;
        ensure!(killed.state != "COMPLETED", "{killed:?}");
        gone(cluster, job, 0)?;
        let script =
            "srun bash -c 'echo began; sleep 1000' &\nwhile ! grep -q began $SLURM_JOB_ID.out; do sleep 0.1; done";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:16"])?;
        ended(cluster, job, "COMPLETED")?;
        gone(cluster, job, 0)?;
        wait_until("no step to be left", LIMIT, || {
            Ok(cluster.command("squeue").args(&["--steps", "--noheader"]).success()?.stdout.is_empty())
        })?;
        there_are(cluster, &[])
    })
}
