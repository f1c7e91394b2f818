//! Batch jobs that get their IPUs.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};

use crate::jobs::brisk;

#[test]
fn job_sbatch_16() -> Result<()> {
    // Slurm's own delay, as most sites have it.
    Cluster::settings().slurm_conf("SchedulerParameters=batch_sched_delay=3").run(|cluster| {
        let run = main_job::batch(cluster, 16)?;
        ensure!(run.create >= Duration::from_millis(1900), "{run:?}");
        // Ten times the goal, or on a busy machine twice as long as a job without IPUs takes there.
        let plain = main_job::start_delay(cluster)?;
        ensure!(
            run.ready_to_start < Duration::from_secs(1).max(2 * plain),
            "{run:?}, without IPUs {plain:?}"
        );
        Ok(())
    })
}

#[test]
fn job_het_has_a_partition_for_each_component() -> Result<()> {
    brisk().nodes(2).run(|cluster| {
        let script = format!(
            "{}\nfor group in 0 1; do srun --het-group=$group bash -c 'echo group $SLURM_VIPU_IPUS $IPUOF_CONFIG_PATH'; done",
            main_job::SHOW
        );
        let job = cluster.sbatch(&script, &["--gres=vipu:pod64:4", ":", "--gres=vipu:pod64:8"])?;
        main_job::batch_ended(cluster, job, 4)?;
        let output = cluster.job_output(job);
        for (ipus, component) in [(4, job.0), (8, job.0 + 1)] {
            let line = output.lines().find(|line| line.starts_with(&format!("group {ipus} ")));
            let file = format!("/slurm_{component}.conf");
            ensure!(line.is_some_and(|line| line.ends_with(&file)), "{output}");
        }
        let mut sizes: Vec<_> =
            cluster.mock().report()?.partitions.iter().map(|record| record.ipus().len()).collect();
        sizes.sort_unstable();
        ensure!(sizes == [4, 8], "{sizes:?}");
        Ok(())
    })
}
