//! A backup slurmctld that takes over when the primary fails.

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, main_job, process::Process, wait_until};
use vipu_client::Call;

use super::slurmctld_crashes::NO_NODES_LEFT;
use crate::{LIMIT, jobs::cancel, let_go, quick, stay};

/// The traces of the plugins in a slurmctld.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    select_plugin: bool,
    driver: bool,
    threads: bool,
    connection: bool,
    journal: bool,
}

impl Traces {
    /// The traces in every slurmctld that loads the plugins.
    const INERT: Self =
        Self { select_plugin: true, driver: false, threads: false, connection: false, journal: false };

    /// The traces in the slurmctld in charge, and in no other.
    const ACTIVE: Self =
        Self { select_plugin: true, driver: true, threads: true, connection: true, journal: true };

    fn of(slurmctld: Process, cluster: &Cluster) -> Result<Self> {
        let journal = cluster.layout().state().join("vipu_journal").canonicalize()?;
        let all = || {
            std::io::Result::Ok(Self {
                select_plugin: slurmctld.has_loaded("select_vipu.so")?,
                driver: slurmctld.has_loaded("vipu_slurmctld.so")?,
                threads: slurmctld.threads()?.iter().any(|name| name.starts_with("vipu-")),
                connection: slurmctld.is_connected_to(cluster.mock().port())?,
                // A slurmctld that opens the journal replaces it. If a waiting one did this, it would have
                // the file open, or the one in charge would not.
                journal: slurmctld.open_files()?.contains(&journal),
            })
        };
        all().with_context(|| format!("cannot look at {slurmctld:?}"))
    }
}

fn only_one_acts(cluster: &Cluster) -> Result<()> {
    let (primary, backup) = (cluster.slurmctld()?, cluster.backup()?);
    let (primary, backup) = (Traces::of(primary, cluster)?, Traces::of(backup, cluster)?);
    ensure!(backup == Traces::INERT, "the backup that waits has {backup:?}");
    ensure!(primary == Traces::ACTIVE, "slurmctld has {primary:?}");
    Ok(())
}

#[test]
fn job_backup_controller_takes_over() -> Result<()> {
    // Slurm's main scheduler may have ended in a slurmctld that took over: backfill starts the waiting jobs.
    quick().backup().slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let running = stay(cluster, 64)?;
        only_one_acts(cluster)?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        taken_over(cluster)?;
        ensure!(cluster.mock().partitions()? == [main_job::partition_name(running, 0)]);
        let_go(cluster)?;
        main_job::batch_ended(cluster, running, 64)?;
        main_job::batch_ended(cluster, waiting, 16)?;
        main_job::sbatch(cluster, 32)?;
        // A fourth create would mean that one was tried while there was no room for it.
        let report = cluster.mock().report()?;
        let creates = report.calls(Call::CreatePartition);
        ensure!(report.partitions.len() == 3 && creates == 3, "{creates} creates of {:?}", report.partitions);
        Ok(())
    })
}

#[test]
fn job_backup_controller_takes_over_at_a_request() -> Result<()> {
    quick().backup().slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let running = stay(cluster, 64)?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        cluster.take_over()?;
        acts(cluster)?;
        ensure!(cluster.mock().partitions()? == [main_job::partition_name(running, 0)]);
        cluster.return_control()?;
        acts(cluster)?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, running, 64)?;
        main_job::batch_ended(cluster, waiting, 16).map(drop)
    })
}

#[test]
fn job_backup_controller_takes_over_twice() -> Result<()> {
    // The test build checks for I/O under slurmctld's locks. A second takeover has code that runs nowhere
    // else.
    let settings = quick().backup().failpoints().slurm_conf("SchedulerParameters=bf_interval=1");
    settings.expect_log(NO_NODES_LEFT).run(|cluster| {
        let first = stay(cluster, 16)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        taken_over(cluster)?;
        let second = stay(cluster, 16)?;
        cluster.await_saved()?;
        cluster.return_control()?;
        acts(cluster)?;
        let (third, ending) = (stay(cluster, 16)?, stay(cluster, 1)?);
        cluster.mock().inject(Fault::new(Effect::RemoveStuck).times(1))?;
        cancel(cluster, ending)?;
        // The fault is for this removal, which waits for the node.
        wait_until("its partition to be being removed", LIMIT, || {
            let record = cluster.mock().record(&main_job::partition_name(ending, 0))?;
            Ok(record.remove_request.is_some())
        })?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        taken_over(cluster)?;
        // The backup knows the jobs of each slurmctld, and waits for no end twice.
        cluster.mock().cause(Incident::Vanish { partition: main_job::partition_name(ending, 0) })?;
        cluster.await_end(ending, LIMIT)?;
        // slurmctld may lose a message in its first second. The message is repeated a minute later.
        main_job::sbatch(cluster, 1)?;
        let_go(cluster)?;
        [first, second, third]
            .iter()
            .try_for_each(|job| main_job::batch_ended(cluster, *job, 16).map(drop))?;
        main_job::sbatch(cluster, 64).map(drop)
    })
}

/// Waits until the backup has taken over and acts.
fn taken_over(cluster: &Cluster) -> Result<()> {
    cluster.await_takeover()?;
    acts(cluster)
}

/// Waits until the slurmctld in charge acts.
pub(super) fn acts(cluster: &Cluster) -> Result<()> {
    let is_active = || Ok(Traces::of(cluster.slurmctld()?, cluster)? == Traces::ACTIVE);
    wait_until("the slurmctld in charge to act", LIMIT, is_active)
}
