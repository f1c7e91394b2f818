//! A job that is stopped at a step. `strike.rs` lets the fault strike it there.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, JobId, Running, main_job, wait_until};

use crate::{
    Case,
    fault::Fault,
    mode::Mode,
    step::{Step, Stop, held},
};

/// Longer than any wait that succeeds.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The script of the job: prints the process that started it, and stays until it may go.
const SCRIPT: &str = "echo \"parent $PPID\"\nwhile [ ! -e go ]; do sleep 0.1; done\necho went";

/// The message of the plugin's forced panic.
const PANIC: &str = "a panic, as the test wants it";

/// Runs a job of another user, and returns its partition, which stays idle.
fn leave_idle(cluster: &Cluster) -> Result<String> {
    let job = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?.account(&Account::named("daemon")?);
    let partition = main_job::partition_name(cluster.submit(job)?, 0);
    wait_until(&format!("{partition} to be idle"), LIMIT, || {
        Ok(cluster.slurmctld_log().contains(&format!("partition {partition} stays idle")))
    })?;
    Ok(partition)
}

/// A job at a step.
pub struct StoppedJob<'a> {
    pub cluster: &'a Cluster,
    pub step: Step,
    pub fault: Fault,
    /// The partition that the job gets, unless it is its own.
    idle: Option<String>,
    /// `None` while slurmctld checks the request, and if slurmctld died meanwhile.
    pub job: Option<JobId>,
    /// The command, while slurmctld has not answered it.
    pub sbatch: Option<Running>,
    is_free: bool,
}

impl<'a> StoppedJob<'a> {
    /// Brings a job of 16 IPUs to the step.
    pub fn reach(cluster: &'a Cluster, Case { mode, fault, step }: Case) -> Result<Self> {
        let idle = if mode == Mode::Reused { Some(leave_idle(cluster)?) } else { None };
        let mut stopped = Self { cluster, step, fault, idle, job: None, sbatch: None, is_free: false };
        let arguments = ["--gres=vipu:pod64:16", "--requeue"];
        if step == Step::Submit {
            stopped.stop_there()?;
            stopped.sbatch = Some(cluster.sbatch_command(SCRIPT, &arguments)?.start()?);
            stopped.await_there()?;
            return Ok(stopped);
        }
        let saved_first = fault.waits_for_saved_state();
        if saved_first {
            // The Slurm partition goes down, and the job is not held: a held job would come back held.
            stopped.open_queue(false)?;
        } else if !step.is_ending() {
            stopped.stop_there()?;
        }
        let job = cluster.sbatch(SCRIPT, &arguments)?;
        stopped.job = Some(job);
        if saved_first {
            cluster.await_saved()?;
            if !step.is_ending() {
                stopped.stop_there()?;
            }
            stopped.open_queue(true)?;
        }
        if step.is_ending() {
            stopped.await_running(job)?;
            if saved_first {
                cluster.await_saved()?;
            }
            stopped.stop_there()?;
            stopped.go_on()?;
        }
        stopped.await_there()?;
        // After a panic, the plugin is no longer at the step.
        if step.is_making() && fault != Fault::Panic {
            let (state, wanted) = (cluster.job(job)?.state, mode.state_while_making());
            ensure!(state == wanted, "the job is {state} while its partition is made");
        }
        if saved_first && !step.holds_locks() {
            cluster.await_saved()?;
        }
        Ok(stopped)
    }

    /// Sets whether Slurm starts jobs.
    fn open_queue(&self, open: bool) -> Result<()> {
        let state = if open { "State=UP" } else { "State=DOWN" };
        self.cluster.scontrol(&["update", "PartitionName=v-ipu", state]).map(drop)
    }

    fn await_running(&self, job: JobId) -> Result<()> {
        wait_until("the script to run", LIMIT, || Ok(self.cluster.job_output(job).contains('\n')))
    }

    fn stop_there(&self) -> Result<()> {
        match self.step.stop() {
            Stop::Plugin(place) if self.fault == Fault::Panic => self.cluster.arm_panic(place, PANIC),
            Stop::Plugin(place) => self.cluster.arm(place),
            Stop::Reply(call) => self.cluster.mock().inject(held(call)),
            Stop::Script => Ok(()),
        }
    }

    fn await_there(&self) -> Result<()> {
        let (cluster, job) = (self.cluster, self.job.unwrap_or(JobId(0)));
        match self.step.stop() {
            Stop::Plugin(place) if self.fault == Fault::Panic => cluster.await_panic(place),
            Stop::Plugin(place) => cluster.await_stopped(place),
            Stop::Script => self.await_running(job),
            Stop::Reply(_) => wait_until("the controller to be asked", LIMIT, || {
                let report = cluster.mock().report()?;
                let own = || main_job::partition_name(job, 0);
                let asked = report.partition(&self.idle.clone().unwrap_or_else(own));
                Ok(asked.is_some_and(|record| match self.step {
                    Step::ResetSent => record.events.iter().any(|event| event.operation == "POS_RESETTING"),
                    Step::RemoveSent => record.remove_request.is_some(),
                    _ => true,
                }))
            }),
        }
    }

    /// Lets the job pass the step.
    pub fn pass(&self) -> Result<()> {
        match self.step.stop() {
            Stop::Plugin(place) => self.cluster.let_pass(place),
            Stop::Reply(_) => self.cluster.mock().clear(),
            Stop::Script => Ok(()),
        }
    }

    /// Lets the job end.
    pub fn go_on(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.is_free, true) {
            fs::write(self.cluster.layout().jobs().join("go"), "")?;
        }
        Ok(())
    }
}
