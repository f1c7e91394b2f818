//! slurmctld is killed right after it has launched a batch job. Its last save of the job is older than the launch.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use mock_vipu::{Effect, Fault, Nanos, Rpc};
use testbed::{Cluster, JobId, SavedJobs, next_second, process::Process, wait_until};
use vipu_client::Call;

use super::marked_script::{
    IPUS, begins, begun, ends, has_launch_on_record, is_held, launched, no_node_drains, patient, ran_once,
    saved_as_configuring, script,
};
use crate::account::save_usage;
use crate::jobs::{begin_again, ended, gone, now, partition, runs};
use crate::{LIMIT, let_go, quick};

/// The number of requeues before each begin of a job's script.
fn restarts_at_begins(cluster: &Cluster, job: JobId) -> Result<Vec<u16>> {
    Ok(begins(cluster, job)?.iter().map(|begin| begin.restarts).collect())
}

/// Lets a job's second run end, and checks that it was a restart.
pub(super) fn ends_after_two_runs(cluster: &Cluster, job: JobId) -> Result<()> {
    let_go(cluster)?;
    ended(cluster, job, "COMPLETED")?;
    let runs = restarts_at_begins(cluster, job)?;
    ensure!(runs == [0, 1], "begun after {runs:?} requeues");
    no_node_drains(cluster)
}

/// Waits until a job's next run is known as a restart, and lets it begin now instead of after two minutes.
pub(super) fn begin_as_restart(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.await_job(job, "to be in line as a restart", LIMIT, |job| {
        job.state == "PENDING" && job.restarts == 1
    })?;
    begin_again(cluster, job)
}

/// Submits a job, and saves Slurm's jobs while it is in line.
pub(super) fn saved_before_its_start(cluster: &Cluster, options: &[&str]) -> Result<(JobId, SavedJobs)> {
    // A held job would come back held.
    cluster.scontrol(&["update", "PartitionName=v-ipu", "State=DOWN"])?;
    let job = cluster.sbatch(&script(0), options)?;
    cluster.await_saved()?;
    let saved = cluster.saved_jobs()?;
    cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
    Ok((job, saved))
}

/// Submits a job, and saves Slurm's jobs while it is in line. Returns when its script runs, with the script's
/// process.
pub(super) fn saved_in_line(cluster: &Cluster, requeue: &str) -> Result<(JobId, SavedJobs, Process)> {
    let (job, saved) = saved_before_its_start(cluster, &[IPUS, requeue])?;
    let process = launched(cluster, job)?;
    Ok((job, saved, process))
}

/// Watches the first script of a job until its end, also while slurmctld starts.
pub(super) struct Watch {
    job: JobId,
    last_seen: JoinHandle<Result<Nanos>>,
}

impl Watch {
    pub(super) fn begin(job: JobId, script: Process) -> Self {
        let last_seen = thread::spawn(move || {
            let mut seen = Nanos(0);
            wait_until("the end of the first script", LIMIT, || {
                let look = Nanos(now()?.as_nanos().try_into()?);
                let runs = script.exists();
                if runs {
                    seen = look;
                }
                Ok(!runs)
            })?;
            Ok(seen)
        });
        Self { job, last_seen }
    }

    /// Waits until the script has ended, and checks that its partition was not removed before.
    pub(super) fn partition_stayed(self, cluster: &Cluster) -> Result<()> {
        let last_seen = self.last_seen.join().map_err(|_| anyhow!("the watch panicked"))??;
        gone(cluster, self.job, 0)?;
        let removal =
            cluster.mock().record(&partition(self.job))?.remove_request.context("it was not removed")?;
        let early = last_seen.0.saturating_sub(removal.0);
        ensure!(
            early == 0,
            "its partition was removed {:?} before its script ended",
            Duration::from_nanos(early)
        );
        Ok(())
    }
}

/// Checks that the script ran once, and that slurmctld and slurmdbd know its exit code.
fn ended_once(cluster: &Cluster, job: JobId, exit_code: &str) -> Result<()> {
    let wanted = format!("{}|{exit_code}", ran_once(cluster, job, exit_code)?.state);
    gone(cluster, job, 0)?;
    no_node_drains(cluster)?;
    wait_until(&format!("job {job} to be '{wanted}' in the database"), LIMIT, || {
        let sacct = cluster.command("sacct").args(&["-nPX", "-o", "State,ExitCode", "-j", &job.to_string()]);
        Ok(sacct.success()?.stdout.trim() == wanted)
    })
}

/// With slurmdbd, Slurm takes the end of a script only for a job with a batch step.
#[test]
fn job_restart_slurmctld_that_did_not_save_a_launch() -> Result<()> {
    patient().accounting().run(|cluster| {
        save_usage(cluster)?;
        let (job, saved) = saved_as_configuring(cluster, 3, "--requeue")?;
        cluster.mock().clear()?;
        launched(cluster, job)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        runs(cluster, job)?;
        let_go(cluster)?;
        ended_once(cluster, job, "3:0")
    })
}

#[test]
fn job_restart_slurmctld_that_did_not_save_a_launch_while_the_script_ends() -> Result<()> {
    patient().accounting().run(|cluster| {
        save_usage(cluster)?;
        let (job, saved) = saved_as_configuring(cluster, 0, "--requeue")?;
        cluster.mock().clear()?;
        launched(cluster, job)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        let_go(cluster)?;
        wait_until("the end of the script", LIMIT, || Ok(ends(cluster, job) == 1))?;
        cluster.start_slurmctld()?;
        ended_once(cluster, job, "0:0")
    })
}

/// Slurm's last save is older than the launch and the requeue.
#[test]
fn job_restart_slurmctld_that_did_not_save_a_requeue() -> Result<()> {
    patient().run(|cluster| {
        let (job, saved) = saved_as_configuring(cluster, 0, "--requeue")?;
        cluster.mock().clear()?;
        launched(cluster, job)?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        gone(cluster, job, 0)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        wait_until("the requeue to be known", LIMIT, || Ok(cluster.job(job)?.restarts == 1))?;
        ends_after_two_runs(cluster, job)
    })
}

/// Slurm's last save is older than the launch and the end of the job.
#[test]
fn job_restart_slurmctld_that_did_not_save_a_cancel() -> Result<()> {
    patient().run(|cluster| {
        let (job, saved) = saved_as_configuring(cluster, 0, "--requeue")?;
        cluster.mock().clear()?;
        launched(cluster, job)?;
        cluster.command("scancel").args(&[&job.to_string()]).success()?;
        gone(cluster, job, 0)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        ended(cluster, job, "CANCELLED")?;
        ensure!(begins(cluster, job)?.len() == 1, "{:?}", begins(cluster, job)?);
        no_node_drains(cluster)
    })
}

/// Slurm ends the script of a job that it knows as waiting when it hears of the script from the node.
#[test]
fn job_restart_slurmctld_that_knows_a_launched_job_as_waiting() -> Result<()> {
    patient().expect_log("Registered PENDING").run(|cluster| {
        let (job, saved, process) = saved_in_line(cluster, "--requeue")?;
        let watch = Watch::begin(job, process);
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        watch.partition_stayed(cluster)?;
        begin_as_restart(cluster, job)?;
        wait_until("its second run", LIMIT, || Ok(begins(cluster, job)?.len() == 2))?;
        ends_after_two_runs(cluster, job)
    })
}

/// Slurm's saved state has the array whole, and its tasks get other ids. The script of task 1 had ended.
#[test]
fn job_restart_slurmctld_that_knows_launched_tasks_of_an_array_as_waiting() -> Result<()> {
    const SCRIPT: &str = "echo ${SLURM_RESTART_COUNT:-0} >> task.$SLURM_ARRAY_TASK_ID\n\
                          until [ -e go ] || [ $SLURM_ARRAY_TASK_ID = 1 ]; do sleep 0.1; done";
    let settings = patient().expect_log("Registered PENDING").expect_log("Orphan ");
    settings.run(|cluster| {
        cluster.scontrol(&["update", "PartitionName=v-ipu", "State=DOWN"])?;
        let array = cluster.sbatch(SCRIPT, &[IPUS, "--array=0-2"])?;
        cluster.await_saved()?;
        let saved = cluster.saved_jobs()?;
        cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
        let task = |number| {
            let jobs = cluster.jobs()?.into_iter();
            let mut tasks = jobs.filter(|job| job.array == Some(array) && job.array_task == Some(number));
            tasks.next().with_context(|| format!("no task {number}"))
        };
        for number in [0, 2] {
            wait_until("the task to begin", LIMIT, || {
                Ok(cluster.job_file(&format!("task.{number}")) == "0\n")
            })?;
            let id = task(number)?.id;
            wait_until("its launch to be on record", LIMIT, || has_launch_on_record(cluster, id, 0))?;
        }
        let over = ended(cluster, task(1)?.id, "COMPLETED")?.id;
        gone(cluster, over, 0)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        for number in [0, 2] {
            wait_until("its next run to be known", LIMIT, || Ok(task(number)?.restarts == 1))?;
            next_second()?;
            cluster.scontrol(&["update", &format!("JobId={array}_{number}"), "StartTime=now"])?;
            let begins_again = || Ok(cluster.job_file(&format!("task.{number}")) == "0\n1\n");
            wait_until(&format!("the second run of task {number}"), LIMIT, begins_again)?;
        }
        let_go(cluster)?;
        for number in [0, 2] {
            ended(cluster, task(number)?.id, "COMPLETED")?;
        }
        let held = task(1)?.id;
        ensure!(is_held(cluster, held)? && cluster.job_file("task.1") == "0\n", "{:?}", task(1)?);
        let comment = task(1)?.system_comment;
        ensure!(comment.ends_with(&format!("scontrol release {array}_1")), "{comment}");
        cluster.scontrol(&["release", &format!("{array}_1")])?;
        ended(cluster, held, "COMPLETED")?;
        ensure!(cluster.job_file("task.1") == "0\n1\n", "{}", cluster.job_file("task.1"));
        no_node_drains(cluster)
    })
}

/// slurmd launches no job of which it has not been told that it ended, and Slurm then drains the node.
#[test]
fn job_restart_slurmctld_that_knows_a_job_as_waiting_while_the_script_ends() -> Result<()> {
    patient().run(|cluster| {
        let (job, saved, _) = saved_in_line(cluster, "--requeue")?;
        cluster.kill_slurmctld_back_at(&saved)?;
        let_go(cluster)?;
        wait_until("the end of the script", LIMIT, || Ok(ends(cluster, job) == 1))?;
        cluster.start_slurmctld()?;
        begin_as_restart(cluster, job)?;
        ends_after_two_runs(cluster, job)
    })
}

/// Stock Slurm launches a job again whose script ended while slurmctld was away. Its node refuses that.
#[test]
fn job_restart_slurmctld_of_stock_slurm_drains_the_node_and_holds_the_job() -> Result<()> {
    let settings =
        quick().without_plugin().expect_log("Duplicate jobid").expect_log("do not launch second copy");
    settings.run(|cluster| {
        let (job, saved) = saved_before_its_start(cluster, &["--requeue"])?;
        begun(cluster, job)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        let_go(cluster)?;
        wait_until("the end of the script", LIMIT, || Ok(ends(cluster, job) == 1))?;
        cluster.start_slurmctld()?;
        wait_until(&format!("job {job} to be held"), LIMIT, || is_held(cluster, job))?;
        ensure!(begins(cluster, job)?.len() == 1, "{:?}", begins(cluster, job)?);
        wait_until("the node to be drained", LIMIT, || Ok(no_node_drains(cluster).is_err()))
    })
}

#[test]
fn job_restart_slurmctld_that_knows_a_launched_job_without_requeue_as_waiting() -> Result<()> {
    // The node tells that the run is over, and Slurm has the job as never started.
    let settings = patient().expect_log("slurmctld and slurmd out of sync");
    settings.expect_log("Registered PENDING").run(|cluster| {
        let (job, saved, process) = saved_in_line(cluster, "--no-requeue")?;
        let watch = Watch::begin(job, process);
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        watch.partition_stayed(cluster)?;
        wait_until(&format!("job {job} to be held"), LIMIT, || is_held(cluster, job))?;
        ensure!(begins(cluster, job)?.len() == 1, "{:?}", begins(cluster, job)?);
        no_node_drains(cluster)
    })
}

/// The partition is still being made when slurmctld is killed. `--no-requeue` is about runs that were launched.
#[test]
fn job_restart_slurmctld_that_knows_a_configuring_job_without_requeue_as_waiting() -> Result<()> {
    patient().run(|cluster| {
        let held = Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) };
        cluster.mock().inject(Fault::new(held).times(1))?;
        let (job, saved) = saved_before_its_start(cluster, &[IPUS, "--no-requeue"])?;
        cluster.mock().await_created(&partition(job), LIMIT)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.mock().clear()?;
        cluster.start_slurmctld()?;
        begun(cluster, job)?;
        let_go(cluster)?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(restarts_at_begins(cluster, job)?.len() == 1, "{:?}", begins(cluster, job)?);
        no_node_drains(cluster)
    })
}

/// Slurm has lost two runs of the job, of which only the second one was launched.
#[test]
fn job_restart_slurmctld_twice_that_knows_a_job_as_waiting() -> Result<()> {
    patient().expect_log("Registered PENDING").run(|cluster| {
        let held = Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) };
        cluster.mock().inject(Fault::new(held).times(1))?;
        let (job, saved) = saved_before_its_start(cluster, &[IPUS])?;
        cluster.mock().await_created(&partition(job), LIMIT)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.mock().clear()?;
        cluster.start_slurmctld()?;
        begun(cluster, job)?;
        wait_until("its launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 1))?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        cluster.await_job(job, "to be in line as a restart of the second run", LIMIT, |job| {
            job.state == "PENDING" && job.restarts == 2
        })?;
        begin_again(cluster, job)?;
        let_go(cluster)?;
        ended(cluster, job, "COMPLETED")?;
        let runs = restarts_at_begins(cluster, job)?;
        ensure!(runs == [1, 2], "begun after {runs:?} requeues");
        no_node_drains(cluster)
    })
}

/// The script had ended, and its partition was gone, when slurmctld was killed.
#[test]
fn job_restart_slurmctld_that_knows_an_ended_job_as_waiting() -> Result<()> {
    patient().run(|cluster| {
        let (job, saved, _) = saved_in_line(cluster, "--requeue")?;
        let_go(cluster)?;
        ended(cluster, job, "COMPLETED")?;
        gone(cluster, job, 0)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        wait_until(&format!("job {job} to be held"), LIMIT, || is_held(cluster, job))?;
        let runs = restarts_at_begins(cluster, job)?;
        ensure!(runs == [0], "begun after {runs:?} requeues");
        no_node_drains(cluster)
    })
}

/// The command is gone, so that nothing else would end the job before its time limit.
#[test]
fn job_restart_slurmctld_that_knows_an_ended_srun_as_running() -> Result<()> {
    patient().run(|cluster| {
        let script = format!(
            "until [ -e {} ]; do sleep 0.1; done; exit 3",
            cluster.layout().jobs().join("go").display()
        );
        let command =
            cluster.command("srun").args(&[IPUS, "--job-name=short", "sh", "-c", &script]).start()?;
        let job = cluster.await_job_named("short", LIMIT)?;
        runs(cluster, job)?;
        cluster.await_saved()?;
        let saved = cluster.saved_jobs()?;
        let_go(cluster)?;
        command.output(LIMIT)?;
        gone(cluster, job, 0)?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld()?;
        let ended = ended(cluster, job, "FAILED")?;
        ensure!(ended.exit_code == "3:0", "{ended:?}");
        no_node_drains(cluster)
    })
}

#[test]
fn job_restart_slurmctld_that_has_forgotten_a_launched_job() -> Result<()> {
    let settings = patient().expect_log("ended while slurmctld was away").expect_log("Orphan ");
    settings.run(|cluster| {
        cluster.await_saved()?;
        let saved = cluster.saved_jobs()?;
        let job = cluster.sbatch(&script(0), &[IPUS])?;
        let watch = Watch::begin(job, launched(cluster, job)?);
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.may_be_lost(job);
        cluster.start_slurmctld()?;
        let next = cluster.sbatch("true", &[])?;
        ensure!(
            next > job,
            "job {next} has an id that was given before, and jobs of srun would take it for theirs"
        );
        watch.partition_stayed(cluster)?;
        cluster.await_nodes()
    })
}
