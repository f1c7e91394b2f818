//! Requests that change while the job waits.

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, main_job};

use crate::jobs::{brisk, ended, let_go, running, there_are, update, waits};

fn request(cluster: &Cluster, job: JobId, gres: &str) -> Result<()> {
    update(cluster, job, &[&format!("Gres={gres}")])
}

#[test]
fn job_request_updated_to_more_and_fewer() -> Result<()> {
    brisk().run(|cluster| {
        let half = running(cluster, 32, &["--time=60"])?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--time=60"])?;
        waits(cluster, waiting, "64 IPUs of pod64 needed, 32 free")?;
        // The job would end too late.
        let behind = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:1", "--time=600"])?;
        waits(cluster, behind, &format!("IPUs of pod64 are kept for job {waiting}"))?;
        request(cluster, waiting, "vipu:pod64:32")?;
        main_job::batch_ended(cluster, waiting, 32)?;
        main_job::batch_ended(cluster, behind, 1)?;
        let more = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16", "--hold"])?;
        request(cluster, more, "vipu:64")?;
        cluster.scontrol(&["release", &more.to_string()])?;
        waits(cluster, more, "64 IPUs of pod64 needed, 32 free")?;
        let_go(cluster, half)?;
        main_job::batch_ended(cluster, half, 32)?;
        main_job::batch_ended(cluster, more, 64).map(drop)
    })
}

#[test]
fn job_request_updated_to_none_and_from_none() -> Result<()> {
    brisk().run(|cluster| {
        let full = running(cluster, 64, &[])?;
        let without = "env | grep -c -E '^(IPUOF_|SLURM_VIPU_)' || true";
        let to_none = cluster.sbatch(without, &["--gres=vipu:pod64:64"])?;
        waits(cluster, to_none, "64 IPUs of pod64 needed, 0 free")?;
        request(cluster, to_none, "")?;
        ended(cluster, to_none, "COMPLETED")?;
        ensure!(cluster.job_output(to_none) == "0\n", "{}", cluster.job_output(to_none));
        let from_none = cluster.sbatch(main_job::SHOW, &["--hold"])?;
        request(cluster, from_none, "vipu:8")?;
        cluster.scontrol(&["release", &from_none.to_string()])?;
        waits(cluster, from_none, "8 IPUs of pod64 needed, 0 free")?;
        there_are(cluster, &[(full, 0)])?;
        let_go(cluster, full)?;
        main_job::batch_ended(cluster, full, 64)?;
        main_job::batch_ended(cluster, from_none, 8).map(drop)
    })
}
