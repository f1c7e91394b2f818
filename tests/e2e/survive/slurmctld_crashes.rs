//! slurmctld dies, or comes back without its saved state.

use std::fs;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, Settings, main_job, process::Process, wait_until};
use vipu_client::Call;

use super::marked_script::{begins, begun, ends, script};
use crate::jobs::{cancel, ended, partition, waits};
use crate::{LIMIT, let_go, quick, slow, stay};

/// The log line of Slurm when it restores a COMPLETING job whose nodes are done with it.
pub(crate) const NO_NODES_LEFT: &str = "allocated no nodes to be killed on";

/// The time in which slurmctld saves its state, on a busy machine.
const SAVE_LIMIT: Duration = Duration::from_secs(20);

/// Kills slurmctld after it has saved its jobs, and starts it again after `meanwhile`.
fn crash(cluster: &Cluster, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
    cluster.await_saved()?;
    cluster.kill_slurmctld()?;
    meanwhile()?;
    cluster.start_slurmctld()
}

fn made_one_partition(cluster: &Cluster) -> Result<()> {
    let records = cluster.mock().report()?.partitions;
    ensure!(records.len() == 1, "{records:?}");
    Ok(())
}

#[test]
fn job_kill_slurmctld_while_running() -> Result<()> {
    quick().run(|cluster| {
        let job = stay(cluster, 16)?;
        crash(cluster, || Ok(()))?;
        ensure!(cluster.mock().partitions()? == [partition(job)]);
        // The IPUs of the running job still count as used.
        let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:64"])?;
        waits(cluster, waiting, "48 free")?;
        cancel(cluster, waiting)?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16)?;
        made_one_partition(cluster)
    })
}

/// Only the launch of the job makes slurmctld save its state.
#[test]
fn job_kill_slurmctld_while_nothing_else_happens() -> Result<()> {
    // Longer than slurmctld takes to save that the job has its nodes.
    slow(7).run(|cluster| {
        let job = stay(cluster, 16)?;
        let saved = || anyhow::Ok(fs::metadata(cluster.layout().state().join("job_state"))?.modified()?);
        // Slurm may have saved the launch before the test saw the job run.
        let active = cluster.mock().record(&partition(job))?.active.context("it is not active")?;
        let launched = SystemTime::UNIX_EPOCH + Duration::from_nanos(active.0);
        wait_until("the launch to be saved", SAVE_LIMIT, || Ok(saved().is_ok_and(|saved| saved > launched)))?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16)?;
        made_one_partition(cluster)
    })
}

#[test]
fn job_kill_slurmctld_while_removing() -> Result<()> {
    quick().expect_log(NO_NODES_LEFT).run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::RemoveStuck).times(1))?;
        let job = cluster.sbatch("true", &["--gres=vipu:pod64:16"])?;
        wait_until("its partition to be being removed", LIMIT, || {
            let record = cluster.mock().await_created(&partition(job), LIMIT)?;
            Ok(record.remove_request.is_some())
        })?;
        crash(cluster, || {
            let record = cluster.mock().record(&partition(job))?;
            ensure!(record.removed.is_none(), "it was gone before slurmctld died: {record:?}");
            Ok(())
        })?;
        let next = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        waits(cluster, next, "48 free")?;
        cluster.mock().cause(Incident::Vanish { partition: partition(job) })?;
        main_job::batch_ended(cluster, next, 64)?;
        ended(cluster, job, "COMPLETED")?;
        // A third create would mean that one was tried while there was no room for it.
        let report = cluster.mock().report()?;
        let creates = report.calls(Call::CreatePartition);
        ensure!(report.partitions.len() == 2 && creates == 2, "{creates} creates of {:?}", report.partitions);
        Ok(())
    })
}

#[test]
fn job_ends_while_slurmctld_is_dead() -> Result<()> {
    quick().run(|cluster| {
        let job = stay(cluster, 16)?;
        crash(cluster, || {
            let_go(cluster)?;
            wait_until("the job's last word", LIMIT, || Ok(cluster.job_output(job).contains("went")))?;
            ensure!(cluster.mock().partitions()? == [partition(job)]);
            Ok(())
        })?;
        main_job::batch_ended(cluster, job, 16)?;
        made_one_partition(cluster)
    })
}

#[test]
fn job_orphan_is_removed() -> Result<()> {
    quick().expect_log("ended while slurmctld was away").expect_log("Orphan ").run(|cluster| {
        let orphan = cluster.sbatch("echo $PPID\nsleep 1000", &["--gres=vipu:pod64:16"])?;
        wait_until("the job to say who started it", LIMIT, || {
            Ok(cluster.job_output(orphan).ends_with('\n'))
        })?;
        let parent = cluster.job_output(orphan).trim().parse()?;
        let parent = Process::look(parent).context("the job's parent is gone")?;
        cluster.stop_slurmctld()?;
        ensure!(cluster.mock().partitions()? == [partition(orphan)]);
        cluster.lose_state()?;
        cluster.start_slurmctld()?;
        cluster.mock().await_removed(&partition(orphan), LIMIT)?;
        wait_until("the orphan's end", LIMIT, || Ok(!parent.exists()))?;
        cluster.await_nodes()?;
        // Slurm counts from its first job id again. The journal has the orphan's.
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        ensure!(job > orphan, "job {job} has the id of the orphan, or an earlier one");
        main_job::batch_ended(cluster, job, 64)?;
        let records = cluster.mock().report()?.partitions;
        ensure!(records.len() == 2, "{records:?}");
        Ok(())
    })
}

/// What became of a job that slurmctld launched after its last save.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    is_known: bool,
    begins: usize,
    ends: usize,
    node: String,
}

fn launched_after_the_last_save(settings: Settings, request: &[&str]) -> Result<Fate> {
    let settings = settings.expect_log("ended while slurmctld was away").expect_log("Orphan ");
    settings.run(|cluster| {
        cluster.await_saved()?;
        let saved = cluster.saved_jobs()?;
        let job = cluster.sbatch(&script(0), request)?;
        let process = begun(cluster, job)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.may_be_lost(job);
        cluster.start_slurmctld()?;
        wait_until("the end of the script", LIMIT, || Ok(!process.exists()))?;
        cluster.await_nodes()?;
        Ok(Fate {
            is_known: cluster.jobs()?.iter().any(|known| known.id == job),
            begins: begins(cluster, job)?.len(),
            ends: ends(cluster, job),
            node: cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout,
        })
    })
}

/// Slurm saves a job some seconds after its submit. A job that is launched and not saved is lost with slurmctld: the
/// next one ends its script. Nothing of ours changes that.
#[test]
fn job_kill_slurmctld_seconds_after_a_submit_is_as_in_stock_slurm() -> Result<()> {
    let ours = launched_after_the_last_save(quick(), &["--gres=vipu:pod64:16"])?;
    let stock = launched_after_the_last_save(Cluster::settings().nodes(1).without_plugin(), &[])?;
    let lost = Fate { is_known: false, begins: 1, ends: 0, node: "idle\n".into() };
    ensure!(ours == lost && stock == lost, "{ours:?}, stock: {stock:?}");
    Ok(())
}
