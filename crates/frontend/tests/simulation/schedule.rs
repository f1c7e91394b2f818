//! The schedule of a seed: its jobs, their models, and the faults with their times.

use std::collections::BTreeSet;
use std::time::Duration;

use ledger::Placement;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::controller::Mood;
use crate::faults::{self, Fault, Kind};
use crate::pool;

/// The number of job ids that are given out in one seed.
const JOBS: u32 = 1200;

/// The number of jobs that meet a fault without end.
const QUEUE: u32 = 300;

/// A time longer than all jobs together may take.
const ENDLESS: Duration = Duration::from_secs(100_000);

/// The mean time between two submissions.
const PAUSE: Duration = Duration::from_millis(500);

/// The schedule of a seed. Open points, for example the size of each job, are drawn from `random` as they
/// come up.
#[derive(Clone)]
pub struct Schedule {
    pub seed: u64,
    pub jobs: u32,
    pub pause: Duration,
    /// The most jobs that are in the queue or have nodes.
    pub most_jobs: usize,
    /// The number of jobs that the scheduler looks at in one pass.
    pub depth: usize,
    /// The IPUs of each controller, by model.
    pub models: Vec<(&'static str, u32)>,
    pub placement: Placement,
    /// Whether partitions are made while their jobs still wait (Prepare).
    pub prepares: bool,
    /// ReuseReset, if partitions stay idle after their jobs (KeepIdle).
    pub reuse_reset: Option<&'static str>,
    /// In the order of their times.
    pub faults: Vec<Fault>,
    /// The number of restarts in a row when all jobs have ended.
    pub restarts: usize,
}

impl Schedule {
    pub fn of(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let models =
            if random.random_bool(0.5) { vec![("pod64", 64)] } else { vec![("pod64", 64), ("pod16", 16)] };
        let models = [models, if random.random_bool(0.3) { vec![pool::MODEL] } else { vec![] }].concat();
        let explicit = random.random_bool(0.2);
        let placement = if explicit { Placement::Explicit } else { Placement::Controller };
        let faults = faults_of(&mut random);
        let prepares = random.random_bool(0.5);
        let reuse_reset = *[None, Some("always"), Some("other-users")].choose(&mut random).unwrap();
        let (jobs, pause, most_jobs, depth) = (JOBS, PAUSE, 60, 12);
        let restarts = 0;
        Self {
            seed,
            jobs,
            pause,
            most_jobs,
            depth,
            models,
            placement,
            prepares,
            reuse_reset,
            faults,
            restarts,
        }
    }

    /// A schedule whose faults begin while a queue of many jobs is worked off, and never end. Each fault has
    /// the number of its controller: 0 and 1 are of pod64, 2 and 3 are of pod16.
    pub fn endless(seed: u64, faults: &[(Kind, usize)]) -> Self {
        let fault = |&(kind, pick): &(Kind, usize)| Fault { kind, at: PAUSE * 20, length: ENDLESS, pick };
        Self {
            seed,
            jobs: QUEUE,
            pause: PAUSE / 10,
            most_jobs: usize::MAX,
            depth: usize::MAX,
            models: vec![("pod64", 64), ("pod16", 16)],
            placement: Placement::Controller,
            prepares: seed.is_multiple_of(2),
            reuse_reset: seed.is_multiple_of(3).then_some("always"),
            faults: faults.iter().map(fault).collect(),
            restarts: 0,
        }
    }

    /// A schedule of jobs of a pool. Nodes are cut off, slurmctld is killed and replaced, and the controller's listing lacks
    /// partitions.
    pub fn of_pool(seed: u64) -> Self {
        let (jobs, pause) = (500, Duration::from_secs(3));
        let periods = [
            (Kind::NodeCut, 170),
            (Kind::Killed, 60),
            (Kind::KilledForgetful, 310),
            (Kind::TakenOver, 90),
            (Kind::InMood(Mood::OtherHands), 40),
            (Kind::ResetsFail, 700),
        ];
        let faults = pool::faults(seed, &periods, pause * jobs);
        let models = vec![pool::MODEL];
        Self { jobs, pause, models, most_jobs: 40, faults, ..Self::endless(seed, &[]) }
    }

    /// A schedule with a fault of both controllers of pod64, and with kills of slurmctld all the time. When all is over,
    /// slurmctld is restarted for longer than any entry stays in the journal.
    pub fn restarts(seed: u64, kind: Kind) -> Self {
        let at = |seconds| Duration::from_secs(seconds);
        let fault = |pick| Fault { kind, at: at(1), length: at(100), pick };
        let kill =
            |number: u64| Fault { kind: Kind::Killed, at: at(5 * number), length: Duration::ZERO, pick: 0 };
        let faults = (0..2).map(fault).chain((1..20).map(kill)).collect();
        let jobs = 100;
        Self { jobs, pause: PAUSE, faults, restarts: 200, ..Self::endless(seed, &[]) }
    }

    /// Whether a fault lasts longer than all jobs may take.
    pub fn is_endless(&self) -> bool {
        self.faults.iter().any(|fault| fault.length == ENDLESS)
    }

    /// The random numbers for everything that the schedule leaves open.
    pub fn random(&self) -> StdRng {
        StdRng::seed_from_u64(!self.seed)
    }

    /// The kinds of its faults.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        self.faults.iter().map(|fault| fault.kind).collect()
    }
}

/// Draws faults of some kinds, few in some seeds and many in others, so that different faults meet.
fn faults_of(random: &mut StdRng) -> Vec<Fault> {
    let variety = random.random_range(1..=10);
    let kinds: BTreeSet<Kind> = (0..variety)
        .filter_map(|_| faults::KINDS.choose_weighted(random, |(_, weight)| *weight).ok())
        .map(|(kind, _)| *kind)
        .collect();
    let kinds: Vec<Kind> = kinds.into_iter().collect();
    let pause = Duration::from_secs(random.random_range(4..40));
    let horizon = PAUSE * JOBS;
    let mut faults = Vec::new();
    let mut at = pause;
    while at < horizon {
        if let Some(&kind) = kinds.choose(random) {
            let length = Duration::from_millis(random.random_range(500..20_000));
            faults.push(Fault { kind, at, length, pick: random.random_range(0..1_000_000) });
        }
        at += random.random_range(Duration::ZERO..2 * pause);
    }
    faults
}
