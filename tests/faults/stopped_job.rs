//! A job that is stopped at a step, and the fault that strikes it there.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use mock_vipu::Effect;
use testbed::{Account, Cluster, Disk, JobId, Running, main_job, process::Process, say, wait_until};

use crate::{
    Case,
    fault::Fault,
    mode::Mode,
    step::{Step, Stop, held},
};

/// Longer than any wait that succeeds.
const LIMIT: Duration = Duration::from_secs(60);

/// The message of sbatch when slurmctld (22.05), while it reads its conf files again, has no time to answer.
const LOST_ANSWER: &str = "Zero Bytes were transmitted or received";

/// The time in which the plugin has to log a fault.
const NOTICE_LIMIT: Duration = Duration::from_secs(20);

/// The words of the plugin about a fault of the controller or a disk.
const NOTICES: [&str; 7] = [
    "trying again",
    "no IPU job of model",
    "cannot start",
    "No space left",
    "another id is used",
    "does not stay idle",
    "is made anew",
];

/// The script of the job: prints the process that started it, and stays until it may go.
const SCRIPT: &str = "echo \"parent $PPID\"\nwhile [ ! -e go ]; do sleep 0.1; done\necho went";

/// The message of the plugin's forced panic.
const PANIC: &str = "a panic, as the test wants it";

/// Returns the disk that a fault fills.
pub fn disk(fault: Fault) -> Option<Disk> {
    match fault {
        Fault::IpuofDirFull => Some(Disk::Ipuof),
        Fault::StateFull => Some(Disk::State),
        _ => None,
    }
}

/// Runs a job of another user, and returns its partition, which stays idle.
fn leave_idle(cluster: &Cluster) -> Result<String> {
    let job = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?.account(&Account::named("daemon")?);
    let partition = main_job::partition_name(cluster.submit(job)?, 0);
    wait_until(&format!("{partition} to be idle"), LIMIT, || {
        Ok(cluster.slurmctld_log().contains(&format!("partition {partition} stays idle")))
    })?;
    Ok(partition)
}

/// Whether the fault strikes only after Slurm has saved the job's state.
pub fn is_saved_first(fault: Fault) -> bool {
    matches!(fault, Fault::Kill | Fault::Takeover)
}

/// A job at a step.
pub struct StoppedJob<'a> {
    pub cluster: &'a Cluster,
    step: Step,
    pub fault: Fault,
    /// The partition that the job gets, unless it is its own.
    idle: Option<String>,
    /// `None` while slurmctld checks the request, and if slurmctld died meanwhile.
    pub job: Option<JobId>,
    sbatch: Option<Running>,
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
        let saved_first = is_saved_first(fault);
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
    fn pass(&self) -> Result<()> {
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

    /// Lets the fault strike and the job pass the step, and ends the fault. All daemons are up afterwards.
    pub fn strike(&mut self) -> Result<()> {
        match self.fault {
            Fault::Stop => self.stop_slurmctld()?,
            Fault::Kill | Fault::KillUnsaved | Fault::StateLost | Fault::CleanStart | Fault::Takeover => {
                self.end_slurmctld()?
            }
            Fault::Reconfigure => self.say(&["scontrol", "reconfigure"])?,
            Fault::Cancel => self.say_of_job(&["scancel"])?,
            Fault::Requeue => self.say_of_job(&["scontrol", "requeue"])?,
            Fault::NodeDeath => self.lose_node()?,
            Fault::Refused | Fault::Hung | Fault::Garbage | Fault::ReplyLost => self.upset_controller()?,
            Fault::Restarted | Fault::Forgetful => self.restart_controller()?,
            Fault::IpuofDirFull | Fault::StateFull => self.fill_disk()?,
            // The plugin has already panicked.
            Fault::Panic => {}
            Fault::SlowRemove if self.job.is_none() => self.pass()?,
            Fault::SlowRemove => self.say_of_job(&["scancel"])?,
        }
        self.take_number()
    }

    /// Notes the fate of a job that slurmctld had not accepted when the fault struck.
    fn take_number(&mut self) -> Result<()> {
        let Some(sbatch) = self.sbatch.take() else { return Ok(()) };
        let output = sbatch.output(LIMIT)?;
        // Slurm cannot save the script, or the plugin could not check the request.
        let refuses = [Fault::StateFull, Fault::Panic].contains(&self.fault);
        let may_refuse = self.fault.ends_slurmctld() || refuses;
        let is_taken = self.fault == Fault::Reconfigure && output.stderr.contains(LOST_ANSWER);
        ensure!(output.code == 0 || may_refuse || is_taken, "sbatch: {output:?}");
        self.job = match is_taken {
            true => self.cluster.jobs()?.first().map(|job| job.id),
            false => output.stdout.parse().ok(),
        };
        Ok(())
    }

    fn stop_slurmctld(&self) -> Result<()> {
        self.cluster.begin_stop_of_slurmctld()?;
        self.pass()?;
        self.cluster.await_slurmctld_gone()?;
        self.cluster.start_slurmctld()
    }

    fn end_slurmctld(&mut self) -> Result<()> {
        let cluster = self.cluster;
        cluster.kill_slurmctld()?;
        self.pass()?;
        match self.fault {
            Fault::Takeover => {
                cluster.await_takeover()?;
                cluster.return_control()?;
            }
            Fault::CleanStart => cluster.start_slurmctld_anew()?,
            Fault::StateLost => {
                cluster.lose_state()?;
                cluster.start_slurmctld()?;
            }
            _ => cluster.start_slurmctld()?,
        }
        if let Some(job) = self.job.filter(|_| self.fault == Fault::KillUnsaved) {
            cluster.may_be_lost(job);
        }
        self.await_orphan()
    }

    /// Waits until the node has ended a job that slurmctld has forgotten. The node would refuse another job
    /// with the same id until then.
    fn await_orphan(&self) -> Result<()> {
        let Some(job) = self.job else { return Ok(()) };
        if self.cluster.jobs()?.iter().any(|known| known.id == job) {
            return Ok(());
        }
        let output = self.cluster.job_output(job);
        let parent = output.lines().find_map(|line| line.strip_prefix("parent ")?.parse().ok());
        let Some(parent) = parent.and_then(Process::look) else { return Ok(()) };
        wait_until("the end of the forgotten job", LIMIT, || Ok(!parent.exists()))?;
        // slurmd looks for the end ever more rarely, and refuses the id until it has seen the end.
        self.cluster.kill_slurmd(1)?;
        self.cluster.start_node(1)
    }

    fn say_of_job(&self, words: &[&str]) -> Result<()> {
        let job = self.job.map(|job| job.to_string());
        let words: Vec<_> = words.iter().copied().chain(job.as_deref()).collect();
        self.say(&words)
    }

    /// Sends slurmctld a command before the job passes the step. If slurmctld holds its locks, this command
    /// is the first that it handles afterwards. slurmctld may refuse it.
    fn say(&self, words: &[&str]) -> Result<()> {
        let mut command = self.cluster.command(words[0]).args(&words[1..]).start()?;
        let port = self.cluster.slurmctld_port();
        wait_until("slurmctld to be told", LIMIT, || {
            let Some(process) = command.process()? else { return Ok(true) };
            // The command may end during the look.
            Ok(self.step.holds_locks() && process.is_connected_to(port).unwrap_or(false))
        })?;
        self.pass()?;
        command.output(LIMIT).map(drop)
    }

    fn lose_node(&mut self) -> Result<()> {
        let cluster = self.cluster;
        cluster.kill_slurmd(1)?;
        self.pass()?;
        let state = || anyhow::Ok(cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout);
        wait_until("the node to be given up", LIMIT, || Ok(state()?.starts_with("down")))?;
        cluster.start_node(1)?;
        wait_until("the node to be back", LIMIT, || {
            let state = state()?;
            Ok(!state.starts_with("down") && !state.contains('*'))
        })
    }

    fn upset_controller(&mut self) -> Result<()> {
        let (cluster, seen) = (self.cluster, self.cluster.slurmctld_log().len());
        let mock = cluster.mock();
        let on_reply = matches!(self.step.stop(), Stop::Reply(_));
        match self.fault {
            Fault::Refused => mock.refuse()?,
            Fault::Hung => mock.inject(mock_vipu::Fault::new(Effect::Hang { rpc: None }))?,
            Fault::Garbage => mock.garble()?,
            // The held reply is the lost one.
            _ if on_reply => mock.refuse().and_then(|()| mock.clear())?,
            _ => {
                mock.inject(mock_vipu::Fault::new(Effect::LostReply { rpc: None }).on("slurm_*").times(1))?
            }
        }
        if !on_reply {
            self.pass()?;
        }
        self.go_on_until_notice(seen)?;
        mock.clear()
    }

    fn restart_controller(&mut self) -> Result<()> {
        self.cluster.restart_controller(self.fault == Fault::Forgetful)?;
        self.pass()
    }

    fn fill_disk(&mut self) -> Result<()> {
        let (cluster, seen) = (self.cluster, self.cluster.slurmctld_log().len());
        let Some(disk) = disk(self.fault) else { return Ok(()) };
        cluster.fill_disk(disk)?;
        self.pass()?;
        self.go_on_until_notice(seen)?;
        cluster.free_disk(disk)
    }

    /// Lets the job go on until the plugin has met the fault, or the job has passed a disk that it did not
    /// need.
    fn go_on_until_notice(&mut self, seen: usize) -> Result<()> {
        self.take_number()?;
        self.go_on()?;
        let Some(job) = self.job else { return Ok(()) };
        let is_notice =
            |line: &str| line.contains("select/vipu") && NOTICES.iter().any(|notice| line.contains(notice));
        wait_until("the fault to be met", NOTICE_LIMIT, || {
            let log = self.cluster.slurmctld_log();
            let met = log.get(seen..).unwrap_or_default().lines().find(|line| is_notice(line));
            if let Some(line) = met {
                say(format!("met: {line}"));
            }
            Ok(met.is_some() || disk(self.fault).is_some() && self.cluster.job(job)?.is_over())
        })
    }
}
