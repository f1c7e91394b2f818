//! slurmctld ends at each tenth of a second around a launch, in order or by SIGKILL.
//!
//! The controller's answer to a create is held until Slurm is in the wanted state. The moments count from the answer,
//! or from the end of a reset. The launch follows within milliseconds.

use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use mock_vipu::{Effect, Fault, Incident, Rpc};
use testbed::{Account, Cluster, JobId, JobView, Running, Settings, next_second, wait_until};
use vipu_client::Call;

use crate::mode::Mode;

/// The time between two moments.
const STEP: Duration = Duration::from_millis(100);

/// The moments of the usual tests, in steps.
const FEW: [u32; 4] = [0, 1, 2, 5];

/// The number of moments of all tests: two seconds after the launch.
const ALL: u32 = 21;

/// The longest time until a job is over. srun takes a minute longer than others.
const LIMIT: Duration = Duration::from_secs(120);

/// The exit code of the scripts.
const EXIT_CODE: i32 = 3;

/// How slurmctld ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Stop,
    /// Slurm has saved that the job has its nodes, and nothing later.
    Kill,
}

/// The job, its way to its partition, and what else is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Batch,
    /// The thread with which Slurm saves its jobs always has work.
    Busy,
    Slurmdbd,
    /// slurmdbd is dead.
    DeadSlurmdbd,
    Srun,
    Array,
    Prepared,
    Reused,
    Pool,
}

/// The moments around the launches of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moments {
    pub end: End,
    pub kind: Kind,
}

/// What became of the jobs, each a word with a number.
pub type Fates = BTreeMap<&'static str, usize>;

impl Kind {
    /// Each kind with its name in test names and its words in the table.
    const ROWS: [(Self, &str, &str); 9] = [
        (Self::Batch, "batch", "batch job"),
        (Self::Busy, "busy", "batch job, Slurm saves all the time"),
        (Self::Slurmdbd, "slurmdbd", "batch job, slurmdbd"),
        (Self::DeadSlurmdbd, "dead_slurmdbd", "batch job, slurmdbd is dead"),
        (Self::Srun, "srun", "srun"),
        (Self::Array, "array", "two tasks of an array"),
        (Self::Prepared, "prepared", "batch job with a prepared partition"),
        (Self::Reused, "reused", "batch job with another user's idle partition"),
        (Self::Pool, "pool", "batch job with a partition of a pool"),
    ];

    fn row(self) -> (Self, &'static str, &'static str) {
        Self::ROWS.into_iter().find(|(kind, ..)| *kind == self).unwrap_or((self, "", ""))
    }

    /// Whether a reset of the partition, instead of its create, comes before the launch.
    fn resets(self) -> bool {
        matches!(self, Self::Reused | Self::Pool)
    }

    fn settings(self) -> Settings {
        let settings =
            Cluster::settings().nodes(1).create_time(Duration::from_millis(50)).expect_log("error:");
        match self {
            Self::Slurmdbd | Self::DeadSlurmdbd => Mode::Configuring.set(settings).accounting(),
            // Until the node has registered, srun gets no step. It asks again after this time.
            Self::Srun => Mode::Configuring.set(settings).slurm_conf("SlurmctldTimeout=60"),
            Self::Prepared => Mode::Prepared.set(settings),
            Self::Reused => Mode::Reused.set(settings),
            Self::Pool => Mode::Configuring
                .set(settings)
                .vipu_conf("Mode=pool")
                .vipu_conf("Pool=p16_*")
                .vipu_conf("ReconcileInterval=1"),
            Self::Batch | Self::Busy | Self::Array => Mode::Configuring.set(settings),
        }
    }

    /// Brings a new cluster into the state in which the first job is submitted.
    fn prepare(self, cluster: &Cluster) -> Result<()> {
        match self {
            Self::Slurmdbd | Self::DeadSlurmdbd => {
                // 26.05 does not start again after a kill before its first end in order.
                cluster.stop_slurmctld()?;
                cluster.start_slurmctld()?;
                if self == Self::DeadSlurmdbd { cluster.kill_slurmdbd() } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

impl Moments {
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = Kind::ROWS.into_iter().map(|(kind, ..)| kind);
        kinds.flat_map(|kind| [End::Stop, End::Kill].map(|end| Self { end, kind }))
    }

    pub fn name(self) -> String {
        let end = if self.end == End::Stop { "stop" } else { "kill" };
        format!("fault_{end}_around_the_launch_{}", self.kind.row().1)
    }

    /// Returns the words for the table.
    pub fn words(self) -> [&'static str; 2] {
        [if self.end == End::Stop { "TERM" } else { "kill -9" }, self.kind.row().2]
    }

    /// Whether the usual tests have some of its moments.
    pub fn is_usual(self) -> bool {
        self.kind == Kind::Batch
    }

    /// Ends slurmctld at a few moments or at all of them, each time around another launch on the same cluster.
    pub fn run(self, all: bool) -> Result<Fates> {
        // Slurm saves its jobs while a partition is reset.
        let reset = if self.end == End::Stop { "--reset-latency=1s" } else { "--reset-latency=7s" };
        self.kind.settings().mock(&[reset]).run(|cluster| {
            self.kind.prepare(cluster)?;
            let mut fates = Fates::new();
            // A moment of srun takes a minute.
            let steps = if all && self.kind != Kind::Srun { (0..=ALL).collect() } else { FEW.to_vec() };
            for step in steps {
                let fate = Job { cluster, moments: self, step }.struck(STEP * step);
                for word in fate.with_context(|| format!("{} ms after the answer", 100 * step))? {
                    *fates.entry(word).or_default() += 1;
                }
            }
            Ok(fates)
        })
    }
}

/// One job, or the tasks of one array, around whose launch slurmctld ends.
struct Job<'a> {
    cluster: &'a Cluster,
    moments: Moments,
    step: u32,
}

impl Job<'_> {
    /// Ends slurmctld this long after the controller's answer, starts it again, and returns the fate of each job.
    fn struck(&self, after: Duration) -> Result<Vec<&'static str>> {
        let (cluster, kind) = (self.cluster, self.moments.kind);
        match kind {
            Kind::Reused => self.leave_idle()?,
            Kind::Pool => self.change_pool()?,
            _ => {}
        }
        let calls = cluster.mock().report()?.calls(self.call());
        if !kind.resets() {
            let held = Effect::HeldReply { rpc: Some(Rpc(self.call())) };
            cluster.mock().inject(Fault::new(held))?;
        }
        let srun = self.submit()?;
        let mut jobs = Vec::new();
        wait_until("the controller to be asked", LIMIT, || {
            jobs =
                cluster.jobs()?.into_iter().filter(|job| job.name == self.name()).map(|job| job.id).collect();
            let asked = cluster.mock().report()?.calls(self.call()) - calls;
            Ok(jobs.len() == usize::from(self.tasks()) && asked >= u64::from(self.tasks()))
        })?;
        if self.moments.end == End::Kill && kind != Kind::Busy {
            cluster.await_saved()?;
        }
        let over = AtomicBool::new(kind != Kind::Busy);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // slurmctld may be away.
                    let _ = cluster.sbatch_command("true", &["--hold"]).and_then(|sbatch| sbatch.output());
                }
            });
            let ended = self.end_slurmctld(after);
            over.store(true, Ordering::Relaxed);
            ended
        })?;
        cluster.start_slurmctld_without_nodes()?;
        fs::write(cluster.layout().jobs().join(format!("go-{}", self.name())), "")?;
        let fate = |job: &JobId| self.fate(*job).with_context(|| format!("job {job}"));
        let fates = jobs.iter().map(fate).collect::<Result<_>>()?;
        if let Some(srun) = srun {
            let output = srun.output(LIMIT)?;
            let is_known = cluster.jobs()?.iter().any(|job| job.name == self.name());
            ensure!(output.code == EXIT_CODE || !is_known, "srun: {output:?}");
        }
        Ok(fates)
    }

    fn end_slurmctld(&self, after: Duration) -> Result<()> {
        let mock = self.cluster.mock();
        if self.moments.kind.resets() {
            wait_until("the end of the reset", LIMIT, || {
                let report = mock.report()?;
                let last = report.present().filter_map(|partition| partition.events.last());
                Ok(!last.into_iter().any(|event| event.operation == "POS_RESETTING"))
            })?;
        } else {
            mock.clear()?;
        }
        // The moment is what is tested.
        thread::sleep(after);
        match self.moments.end {
            End::Stop => self.cluster.stop_slurmctld(),
            End::Kill => self.cluster.kill_slurmctld(),
        }
    }

    /// Runs a job of another user, whose partition stays idle. A slurmctld keeps only partitions idle that it has
    /// made itself.
    fn leave_idle(&self) -> Result<()> {
        let job = self.cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?;
        let job = self.cluster.submit(job.account(&Account::named("daemon")?))?;
        self.cluster.await_end(job, LIMIT)?;
        // Slurm may not save it before the next kill.
        self.cluster.may_be_lost(job);
        Ok(())
    }

    /// Gives the pool another partition, as an administrator does. It is reset before its first job.
    fn change_pool(&self) -> Result<()> {
        let mock = self.cluster.mock();
        let old = mock.report()?.present().map(|partition| partition.id.clone()).collect::<Vec<_>>();
        for partition in old {
            mock.cause(Incident::Vanish { partition })?;
        }
        mock.cause(Incident::Foreign { id: format!("p16_{}", self.step), size: 16, first: None })?;
        let listings = || anyhow::Ok(mock.report()?.calls(Call::ListPartitions));
        let before = listings()?;
        // A listing that was on its way may lack the change.
        wait_until("slurmctld to know the pool", LIMIT, || Ok(listings()? >= before + 2))
    }

    fn name(&self) -> String {
        format!("moment-{}", self.step)
    }

    fn tasks(&self) -> u8 {
        if self.moments.kind == Kind::Array { 2 } else { 1 }
    }

    /// The call whose answer lets the job be launched.
    fn call(&self) -> Call {
        if self.moments.kind.resets() { Call::ResetPartition } else { Call::CreatePartition }
    }

    fn submit(&self) -> Result<Option<Running>> {
        let (name, kind) = (self.name(), self.moments.kind);
        // Slurm may give the id of a job that it has not saved to another one.
        let own = "$SLURM_JOB_NAME.${SLURM_ARRAY_TASK_ID:-0}";
        let script = format!(
            "echo ${{SLURM_RESTART_COUNT:-0}} >> begins.{own}\n\
             until [ -e go-{name} ]; do sleep 0.1; done\n\
             echo ended >> ends.{own}\n\
             exit {EXIT_CODE}"
        );
        let (name, ipus) = (format!("--job-name={name}"), "--gres=vipu:pod64:16");
        if kind == Kind::Srun {
            let srun = self.cluster.command("srun").args(&[ipus, &name, "bash", "-c", &script]);
            return srun.start().map(Some);
        }
        let tasks: &[_] = if kind == Kind::Array { &["--array=0-1"] } else { &[] };
        let options = [&[ipus, name.as_str(), "--requeue"], tasks].concat();
        wait_until("slurmctld to take the job", LIMIT, || {
            // The pool may be unknown yet.
            let sbatch = self.cluster.sbatch_command(&script, &options)?;
            Ok(sbatch.output()?.code == 0)
        })?;
        Ok(None)
    }

    /// Waits until the job is over, and does what an administrator does for a job that is held. Returns its fate.
    fn fate(&self, job: JobId) -> Result<&'static str> {
        let (mut was_held, mut last) = (false, None);
        let over = wait_until("its end", LIMIT, || {
            last =
                self.cluster.jobs()?.into_iter().find(|known| known.id == job && known.name == self.name());
            let Some(view) = &last else { return Ok(true) };
            was_held |= self.go_on(view)?;
            Ok(view.is_over())
        });
        over.with_context(|| format!("it is {last:?}"))?;
        let Some(view) = last else {
            ensure!(self.moments.end == End::Kill, "Slurm has lost it");
            return Ok("not saved");
        };
        let task = view.array_task.unwrap_or(0);
        let lines = |file: &str| self.cluster.job_file(&format!("{file}.{}.{task}", self.name()));
        let (begins, ends) = (lines("begins"), lines("ends").lines().count());
        let restarts: Vec<u16> = begins.lines().map(str::parse).collect::<Result<_, _>>()?;
        let ran = format!("{view:?}, begun after {restarts:?} requeues, ended {ends} times");
        ensure!(restarts.is_sorted_by(|one, next| one < next) && ends > 0, "{ran}");
        ensure!(view.state == "FAILED" && view.exit_code == format!("{EXIT_CODE}:0"), "{ran}");
        Ok(match (ends, was_held, view.restarts) {
            (2.., ..) => "run again",
            (_, true, _) => "held",
            (_, false, 0) => "once",
            _ => "requeued",
        })
    }

    /// Releases a job that is held, and lets a requeued job begin at once. Returns whether it was held.
    fn go_on(&self, job: &JobView) -> Result<bool> {
        let is_held = job.state == "PENDING" && job.reason.to_lowercase().contains("held");
        let name = job.name_in_commands();
        if is_held {
            // Slurm has drained the node if it has launched the job twice.
            let _ = self.cluster.scontrol(&["update", "NodeName=ALL", "State=RESUME"]);
            self.cluster.scontrol(&["release", &name])?;
        }
        if is_held || job.state == "PENDING" && job.reason == "BeginTime" {
            next_second()?;
            self.cluster.scontrol(&["update", &format!("JobId={name}"), "StartTime=now"])?;
        }
        Ok(is_held)
    }
}
