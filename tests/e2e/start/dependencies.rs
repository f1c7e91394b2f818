//! Jobs that depend on others.

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, main_job};

use crate::jobs::{brisk, came_after, cancel, ended, let_go, running, waits};

/// All IPUs: two of these jobs never run at the same time.
const WHOLE: &str = "--gres=vipu:pod64:64";

fn after(cluster: &Cluster, dependency: &str) -> Result<JobId> {
    cluster.sbatch(main_job::SHOW, &[WHOLE, &format!("--dependency={dependency}")])
}

#[test]
fn job_dependency_chain() -> Result<()> {
    brisk().run(|cluster| {
        let first = running(cluster, 64, &[])?;
        let good = after(cluster, &format!("afterok:{first}"))?;
        let fails = cluster.sbatch("exit 3", &[WHOLE, &format!("--dependency=afterok:{good}")])?;
        let never = after(cluster, &format!("afterok:{fails}"))?;
        let any = after(cluster, &format!("afterany:{fails}"))?;
        let not_ok = after(cluster, &format!("afternotok:{fails},afterok:{any}"))?;
        // Slurm's own reason stays, because the jobs do not wait for IPUs.
        waits(cluster, any, "Dependency")?;
        let_go(cluster, first)?;
        for job in [first, good, any, not_ok] {
            main_job::batch_ended(cluster, job, 64)?;
        }
        ended(cluster, fails, "FAILED")?;
        for (late, early) in [(good, first), (fails, good), (any, fails), (not_ok, any)] {
            came_after(cluster, late, early)?;
        }
        waits(cluster, never, "DependencyNeverSatisfied")?;
        ensure!(cluster.mock().record(&format!("slurm_{never}")).is_err());
        cancel(cluster, never)
    })
}
