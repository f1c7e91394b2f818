//! The limit on the IPUs of all jobs of a Slurm partition together.

use anyhow::Result;
use testbed::main_job;

use crate::{LIMIT, jobs::brisk, let_go, stay};

#[test]
fn sched_ipus_per_slurm_partition() -> Result<()> {
    brisk().vipu_conf("IpusPerSlurmPartition=v-ipu:32,other:1").run(|cluster| {
        let first = stay(cluster, 16)?;
        let small = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        main_job::batch_ended(cluster, small, 16)?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        let reason = "vipu:_jobs_of_Slurm_partition_v-ipu_have_16_of_at_most_32_IPUs_of_pod64";
        cluster.await_job(waiting, "to say why it waits", LIMIT, |job| job.reason == reason)?;
        let never = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        let reason = "vipu:_64_IPUs_wanted,_jobs_of_Slurm_partition_v-ipu_get_at_most_32_of_pod64";
        cluster.await_job(never, "to say why it waits", LIMIT, |job| job.reason == reason)?;
        // A job that may not start delays no other job.
        let other = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:8"])?;
        main_job::batch_ended(cluster, other, 8)?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, first, 16)?;
        main_job::batch_ended(cluster, waiting, 32).map(drop)
    })
}
