//! Partitions that exist before the jobs, and stay after them (`Mode=pool`).

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{
    Account, Cluster, Settings,
    main_job::{SHOW, Shown},
    wait_until,
};

use crate::LIMIT;
use crate::jobs::{
    ended, ends_without_slurmctld, let_go, resets, restart_slurmctld, roomy, running, runs, staying, waits,
};
use crate::see::document;

/// The reason of a job for which no partition is free.
pub(super) const NONE_FREE: &str = "no such partition of the pool is free";

/// A cluster whose model has this pool, with listings each second.
pub(crate) fn with_pool(pool: &str) -> Settings {
    roomy().vipu_conf("Mode=pool").vipu_conf(&format!("Pool={pool}")).vipu_conf("ReconcileInterval=1")
}

/// Makes partitions as an administrator does, each with its size, and waits until slurmctld knows them.
pub(crate) fn administrator_makes(cluster: &Cluster, partitions: &[(&str, u32)]) -> Result<()> {
    for (id, size) in partitions {
        let (id, size) = ((*id).to_owned(), *size);
        cluster.mock().cause(Incident::Foreign { id, size, first: None })?;
    }
    knows(cluster, partitions.iter().map(|(_, size)| size).sum())
}

/// Waits until slurmctld knows a pool of this many IPUs.
pub(super) fn knows(cluster: &Cluster, ipus: u32) -> Result<()> {
    wait_until(&format!("a pool of {ipus} IPUs"), LIMIT, || {
        let models = document(cluster)?.map(|status| status.models).unwrap_or_default();
        let pool = models.iter().flat_map(|model| &model.pods).flat_map(|pod| &pod.pool);
        Ok(pool.map(|block| block.size).sum::<u32>() == ipus)
    })
}

/// Runs a job that shows its IPUs, and returns its partition.
fn partition_of(cluster: &Cluster, account: &Account, ipus: u32) -> Result<String> {
    let request = format!("--gres=vipu:pod64:{ipus}");
    let job = cluster.submit(cluster.sbatch_command(SHOW, &[&request])?.account(account))?;
    ended(cluster, job, "COMPLETED")?;
    Ok(Shown::parse(&cluster.job_output(job))?.environment["SLURM_VIPU_PARTITION"].clone())
}

/// Ends the pool: no more pool in the configuration, and the administrator removes these partitions.
pub(crate) fn ends(cluster: &Cluster, partitions: &[&str]) -> Result<()> {
    given_up(cluster, &[], partitions)
}

/// With these lines in vipu.conf, the partitions are in no pool any more, and the administrator removes them.
pub(super) fn given_up(cluster: &Cluster, lines: &[&str], partitions: &[&str]) -> Result<()> {
    cluster.write_vipu_conf(lines)?;
    cluster.reconfigure()?;
    for partition in partitions {
        let there = cluster.mock().record(partition)?;
        ensure!(there.removed.is_none(), "slurm-vipu has removed {partition}");
        cluster.mock().cause(Incident::Vanish { partition: (*partition).to_owned() })?;
    }
    Ok(())
}

#[test]
fn mode_pool_gives_the_partitions_of_the_administrator_to_jobs() -> Result<()> {
    with_pool("p4_*,big").expect_log("there is none of this name").run(|cluster| {
        let (one, other) = (Account::named("root")?, Account::named("daemon")?);
        administrator_makes(cluster, &[("p4_a", 4), ("big", 16)])?;
        ensure!(partition_of(cluster, &one, 4)? == "p4_a" && partition_of(cluster, &one, 16)? == "big");
        // Always between two users, and before the first: nobody knows who had it.
        ensure!(partition_of(cluster, &other, 4)? == "p4_a" && resets(cluster, "p4_a")? >= 2);
        ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
        // A partition has one job at a time.
        let first = running(cluster, 4, &[])?;
        let second = staying(cluster, 4, &[])?;
        waits(cluster, second, NONE_FREE)?;
        let_go(cluster, first)?;
        runs(cluster, second)?;
        let_go(cluster, second)?;
        ends(cluster, &["p4_a", "big"])
    })
}

/// The partitions survive slurmctld, whether it stops in order or not, and so does the rule that each has one job.
#[test]
fn mode_pool_stays_over_restarts() -> Result<()> {
    with_pool("32x2").run(|cluster| {
        knows(cluster, 64)?;
        let (first, second) = (running(cluster, 32, &[])?, running(cluster, 32, &[])?);
        // A stop in order saves the jobs.
        restart_slurmctld(cluster)?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let third = staying(cluster, 32, &[])?;
        waits(cluster, third, NONE_FREE)?;
        ends_without_slurmctld(cluster, first)?;
        runs(cluster, third)?;
        let_go(cluster, second)?;
        let_go(cluster, third)?;
        wait_until("the files to go", LIMIT, || Ok(cluster.ipuof_files()?.is_empty()))?;
        ends(cluster, &["slurm_pod64_32_1", "slurm_pod64_32_2"])
    })
}

/// An srun cannot go back into the line once it has its nodes, so the reset comes before.
#[test]
fn mode_pool_gives_srun_another_partition_if_one_cannot_be_reset() -> Result<()> {
    let errors = ["no job gets partition", "cannot be given to a job"];
    errors.into_iter().fold(with_pool("32x2"), Settings::expect_log).run(|cluster| {
        knows(cluster, 64)?;
        cluster.mock().inject(Fault::new(Effect::ResetError { text: "link broken".into() }).times(1))?;
        let srun = ["--gres=vipu:pod64:32", "sh", "-c", "echo $SLURM_VIPU_PARTITION"];
        let ended = cluster.command("srun").args(&srun).start()?.success(LIMIT)?;
        ensure!(ended.stdout.trim() == "slurm_pod64_32_2", "{ended:?}");
        ends(cluster, &["slurm_pod64_32_1", "slurm_pod64_32_2"])
    })
}
