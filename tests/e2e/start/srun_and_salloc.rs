//! srun and salloc.

use anyhow::Result;
use testbed::main_job;

use crate::slow;

#[test]
fn job_srun() -> Result<()> {
    slow(1).run(|cluster| main_job::srun(cluster, 4).map(drop))
}

#[test]
fn job_salloc() -> Result<()> {
    slow(1).run(|cluster| main_job::salloc(cluster, 1).map(drop))
}
