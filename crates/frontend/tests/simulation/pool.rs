//! A model with a pool, and the processes of jobs on its partitions.
//!
//! A partition of a pool is not removed after its job, so it does not cut off processes that are left. No other job may get
//! it for ten minutes while there are some.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use driver::ModelSettings;
use tokio::time::Instant;
use vipu_types::{JobRun, ModelName, ModelPool, PartitionId};

use crate::cluster::PREFIX;
use crate::controller::Machine;
use crate::faults::{Fault, Kind};
use crate::play;
use crate::schedule::Schedule;
use crate::slurm::is_of;

/// The model, with the number of its IPUs.
pub const MODEL: (&str, u32) = ("pool32", 32);

/// Pool
pub const POOL: &str = "8x2,4x2,2x4";

/// The sizes of the partitions.
pub const SIZES: [u64; 3] = [2, 4, 8];

/// The time after its run for which a partition is given to no other job while processes of the run may be left.
const WITHHELD: Duration = Duration::from_secs(600);

/// The pool of a model, if it has one.
pub fn of(model: &ModelName) -> Option<ModelPool> {
    (model.as_str() == MODEL.0).then(|| ModelPool::new(POOL.parse().unwrap(), PREFIX, model).unwrap())
}

/// The settings of a controller with the pool of its model.
pub fn settings_of(machine: &Machine, settings: ModelSettings) -> ModelSettings {
    ModelSettings { pool: of(&machine.model), ..settings }
}

/// Whether a partition is one of the pool.
pub fn has(partition: &PartitionId) -> bool {
    of(&ModelName::new(MODEL.0).unwrap()).is_some_and(|pool| pool.has(partition))
}

/// The processes of all runs on partitions of the pool.
#[derive(Default)]
pub struct Processes(RefCell<HashMap<(PartitionId, u32, u16), OfRun>>);

/// The processes of one run.
struct OfRun {
    run: JobRun,
    /// The time at which the run was over, according to Slurm.
    over: Option<Instant>,
    /// The end of the last process.
    end: Instant,
    /// Whether the node of the run was cut off.
    is_cut_off: bool,
}

impl Processes {
    /// Notes that a run begins, whose processes end by themselves at `end`.
    pub fn begin(&self, partition: &PartitionId, run: JobRun, end: Instant) {
        if has(partition) {
            let key = (partition.clone(), run.job, run.restart);
            self.0.borrow_mut().insert(key, OfRun { run, over: None, end, is_cut_off: false });
        }
    }

    /// Notes that a run is over, and that its last process ends at `end`. A slurmctld with an older saved state finds this
    /// out once more. Returns the true end, and whether the node of the run was cut off.
    pub fn over(&self, run: JobRun, end: Instant, is_cut_off: bool) -> Option<(Instant, bool)> {
        let mut all = self.0.borrow_mut();
        let it = all.values_mut().find(|it| is_of(it.run, run))?;
        if it.over.is_none() {
            (it.over, it.end, it.is_cut_off) = (Some(Instant::now()), end, is_cut_off);
        }
        Some((it.end, it.is_cut_off))
    }

    /// Whether processes of this job are left. None if its node is cut off.
    pub fn of_job(&self, job: u32) -> Option<bool> {
        let all = self.0.borrow();
        let mut left = all.values().filter(|it| it.run.job == job && Instant::now() < it.end);
        let first = left.next();
        (!first.into_iter().chain(left).any(|it| it.is_cut_off)).then_some(first.is_some())
    }

    /// Another job whose processes are left on this partition, if it is too early to give it to this run.
    pub fn of_another(&self, partition: &PartitionId, run: JobRun) -> Option<JobRun> {
        let is_left =
            |it: &OfRun| Instant::now() < it.end && it.over.is_none_or(|over| over.elapsed() < WITHHELD);
        let all = self.0.borrow();
        let mut of_others = all.iter().filter(|((of, job, _), _)| of == partition && *job != run.job);
        of_others.find(|(_, it)| is_left(it)).map(|(_, it)| it.run)
    }
}

/// Nodes are cut off with the processes of their jobs, while slurmctld is killed and replaced all the time and the
/// controller's listing lacks partitions now and then.
#[test]
fn mode_pool_gives_no_job_a_partition_with_processes_of_another() {
    for seed in 0..24 {
        let outcome = play::play(Schedule::of_pool(seed), None);
        let outcome = outcome.unwrap_or_else(|why| panic!("{why}\n\nseed {seed}"));
        assert!(outcome.counts.launched > 100, "seed {seed}: {} launches", outcome.counts.launched);
    }
}

/// Faults that come again and again, each with its period in seconds.
pub fn faults(seed: u64, periods: &[(Kind, u64)], horizon: Duration) -> Vec<Fault> {
    let of_kind = |&(kind, period): &(Kind, u64)| {
        let length = Duration::from_secs(period / 2);
        (1..horizon.as_secs() / period).map(move |number| {
            let at = Duration::from_secs(number * period);
            let pick = (seed * 7919 + number * 104_729) as usize;
            Fault { kind, at, length, pick }
        })
    };
    let mut faults: Vec<_> = periods.iter().flat_map(of_kind).collect();
    faults.sort_by_key(|fault| fault.at);
    faults
}
