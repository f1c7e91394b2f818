//! slurmctld ends at each tenth of a second around a launch, in order or by SIGKILL.
//!
//! The controller's answer to a create is held until Slurm is in the wanted state. The moments count from the answer,
//! or from the end of a reset. The launch follows within milliseconds.

mod job;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use testbed::{Cluster, Settings};

use self::job::Job;
use crate::mode::Mode;

/// The time between two moments.
const STEP: Duration = Duration::from_millis(100);

/// The moments of the usual tests, in steps.
const FEW: [u32; 4] = [0, 1, 2, 5];

/// The number of moments of all tests: two seconds after the launch.
const ALL: u32 = 21;

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
