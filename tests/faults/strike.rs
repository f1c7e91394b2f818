//! The fault strikes a job that is stopped at a step.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::Effect;
use testbed::{process::Process, say, wait_until};

use crate::{
    fault::Fault,
    step::Stop,
    stopped_job::{LIMIT, StoppedJob},
};

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

impl StoppedJob<'_> {
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
        let Some(disk) = self.fault.disk() else { return Ok(()) };
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
            Ok(met.is_some() || self.fault.disk().is_some() && self.cluster.job(job)?.is_over())
        })
    }
}
