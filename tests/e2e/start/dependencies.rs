//! Jobs that wait for others.

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, main_job};

use crate::LIMIT;
use crate::jobs::{brisk, cancel, ended, let_go, running, staying, waits};

/// All of the IPUs: two of these are never there at once.
const WHOLE: &str = "--gres=vipu:pod64:64";

fn after(cluster: &Cluster, dependency: &str) -> Result<JobId> {
    cluster.sbatch(main_job::SHOW, &[WHOLE, &format!("--dependency={dependency}")])
}

/// The partition of one was made when the other's was gone.
fn came_after(cluster: &Cluster, late: JobId, early: JobId) -> Result<()> {
    let gone = cluster.mock().record(&format!("slurm_{early}"))?.removed.context("it is still there")?;
    let made = cluster.mock().record(&format!("slurm_{late}"))?.create_request;
    ensure!(made >= gone, "job {late} had its partition before that of {early} was gone");
    Ok(())
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
        // Slurm's own reason stays: the IPUs are not what they wait for.
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

#[test]
fn job_dependency_on_a_job_that_is_cancelled_while_it_waits() -> Result<()> {
    brisk().run(|cluster| {
        let first = running(cluster, 64, &[])?;
        let second = staying(cluster, 64, &[])?;
        let third = after(cluster, &format!("afterany:{second}"))?;
        waits(cluster, second, "64 IPUs of pod64 needed, 0 free")?;
        cancel(cluster, second)?;
        waits(cluster, third, "64 IPUs of pod64 needed, 0 free")?;
        let_go(cluster, first)?;
        main_job::batch_ended(cluster, third, 64)?;
        came_after(cluster, third, first)
    })
}

#[test]
fn job_dependency_of_array_tasks_and_singletons() -> Result<()> {
    brisk().run(|cluster| {
        // The middle one fails: its counterpart never starts.
        let array = ["--array=0-2", "--gres=vipu:pod64:16", "--output=%j.out"];
        let first = cluster.sbatch("[ $SLURM_ARRAY_TASK_ID != 1 ]", &array)?;
        let corresponding = format!("--dependency=aftercorr:{first}");
        let second = cluster.sbatch(main_job::SHOW, &[&array[..], &[&corresponding]].concat())?;
        let named = ["--job-name=only-one", "--dependency=singleton"];
        let singles =
            (0..3).map(|_| cluster.sbatch(main_job::SHOW, &[&named[..], &["--gres=vipu:pod64:8"]].concat()));
        let singles: Vec<_> = singles.collect::<Result<_>>()?;
        for job in &singles {
            main_job::batch_ended(cluster, *job, 8)?;
        }
        // One after the other, in whatever order. To Slurm a job is over while its partition is being removed.
        let record = |job: &JobId| cluster.mock().record(&format!("slurm_{job}"));
        let mut lives: Vec<_> = singles.iter().map(record).collect::<Result<_>>()?;
        lives.sort_by_key(|life| life.create_request);
        let overlap =
            lives.windows(2).any(|two| two[0].remove_request.is_none_or(|end| end > two[1].create_request));
        ensure!(!overlap, "{lives:?}");
        let states = || {
            let jobs = cluster.jobs()?.into_iter().filter(|job| job.array == Some(second));
            let mut states: Vec<_> = jobs.map(|job| (job.state, job.reason)).collect();
            states.sort_unstable();
            Ok::<_, anyhow::Error>(states)
        };
        testbed::wait_until("the corresponding tasks", LIMIT, || {
            let states = states()?;
            let (done, rest): (Vec<_>, Vec<_>) = states.iter().partition(|(state, _)| state == "COMPLETED");
            Ok(done.len() == 2 && rest.len() == 1 && rest[0].1 == "DependencyNeverSatisfied")
        })
        .with_context(|| format!("{:?}", states()))?;
        let made = cluster.mock().report()?.partitions.len();
        ensure!(made == 8, "{made} partitions were made");
        cancel(cluster, second)
    })
}
