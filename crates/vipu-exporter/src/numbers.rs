//! The numbers of a document, by model and controller.
//!
//! No number names a job, a user or a partition. A document cannot make more than a bounded number of them,
//! whatever it holds.

use std::collections::BTreeMap;

use serde::Serialize;
use vipu_status::{
    Contact, ControllerCounters, Counters, Histogram, Ipus, Model, Pod, PoolState, State, Status, WaitingJob,
    Writer,
};

/// The models that are counted.
const MOST_MODELS: usize = 32;

/// The controllers of a model that are counted.
const MOST_CONTROLLERS: usize = 64;

/// The causes of failures of a controller that are told apart. The others are counted together.
const MOST_CAUSES: usize = 20;

/// The cause under which the others are counted.
const OTHER: &str = "other";

/// All numbers of a document.
#[derive(Debug, Serialize)]
pub(crate) struct Numbers {
    pub(crate) written: i64,
    /// The seconds since then.
    pub(crate) age: i64,
    pub(crate) writer: Writer,
    pub(crate) models: BTreeMap<String, ModelNumbers>,
    pub(crate) counters: Counters,
}

/// The numbers of a model.
#[derive(Debug, Serialize)]
pub(crate) struct ModelNumbers {
    /// The IPUs of all controllers by use.
    pub(crate) ipus: BTreeMap<&'static str, u64>,
    /// The size of the largest partition that fits now.
    pub(crate) largest_now: u32,
    /// Whether no job can start on it, whatever its size.
    pub(crate) trouble: bool,
    /// Whether the last read of its file found an error.
    pub(crate) conf_error: bool,
    /// The longest time for which partitions of failed jobs are kept, in seconds.
    pub(crate) keep_limit: u64,
    pub(crate) drains: usize,
    pub(crate) waiting: Waiting,
    pub(crate) partitions: BTreeMap<&'static str, InState>,
    pub(crate) controllers: BTreeMap<String, ControllerNumbers>,
}

/// The numbers of the line of a model.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Waiting {
    pub(crate) jobs: u64,
    /// The jobs that could start by the forecast, and that Slurm has not started yet.
    pub(crate) due: u64,
    /// The IPUs that all of them want.
    pub(crate) ipus: u64,
}

/// The partitions of a model in one state.
#[derive(Debug, Default, Serialize)]
pub(crate) struct InState {
    pub(crate) count: u64,
    /// The longest time that one of them has been in the state, in seconds.
    pub(crate) oldest: i64,
}

/// The numbers of a controller.
#[derive(Debug, Serialize)]
pub(crate) struct ControllerNumbers {
    pub(crate) up: bool,
    pub(crate) ipus: BTreeMap<&'static str, u64>,
    /// The partitions of its pool by state. Empty if it has none.
    pub(crate) pool: BTreeMap<&'static str, u64>,
    pub(crate) usual_create: Option<f64>,
    pub(crate) counters: ControllerCounters,
}

impl Numbers {
    /// The numbers of a document at a Unix time.
    pub(crate) fn of(status: &Status, now: i64) -> Self {
        let writer = &status.writer;
        let models = status.models.iter().take(MOST_MODELS);
        Self {
            written: status.written,
            age: now.saturating_sub(status.written),
            writer: Writer {
                version: label(&writer.version),
                slurm: label(&writer.slurm),
                cluster: label(&writer.cluster),
                started: writer.started,
            },
            models: models.map(|model| (label(&model.name), ModelNumbers::of(status, model))).collect(),
            counters: status.counters.clone(),
        }
    }
}

impl ModelNumbers {
    fn of(status: &Status, model: &Model) -> Self {
        let pods = model.pods.iter().take(MOST_CONTROLLERS);
        let controllers: BTreeMap<_, _> =
            pods.map(|pod| (label(&pod.controller), ControllerNumbers::of(pod))).collect();
        let mut ipus = BTreeMap::from(uses(&Ipus::default()));
        for (name, count) in controllers.values().flat_map(|controller| &controller.ipus) {
            *ipus.entry(name).or_default() += count;
        }
        Self {
            ipus,
            largest_now: model.largest_now,
            trouble: model.trouble.is_some() || status.out_of_order.is_some(),
            conf_error: model.conf.error.is_some(),
            keep_limit: model.limits.keep,
            drains: status.drains.iter().filter(|drain| drain.model == model.name).count(),
            waiting: Waiting::of(status, model),
            partitions: by_state(status, model),
            controllers,
        }
    }
}

impl Waiting {
    fn of(status: &Status, model: &Model) -> Self {
        let is_due =
            |job: &WaitingJob| job.start.is_some_and(|start| start.max(job.not_before) <= status.written);
        let mut waiting = Self::default();
        for job in status.line.iter().filter(|job| *job.model == *model.name) {
            waiting.jobs += u64::from(job.tasks);
            waiting.due += u64::from(is_due(job));
            waiting.ipus += u64::from(job.tasks) * u64::from(job.size);
        }
        waiting
    }
}

impl ControllerNumbers {
    fn of(pod: &Pod) -> Self {
        let mut failures = BTreeMap::new();
        for (number, (cause, count)) in pod.counters.failures.iter().enumerate() {
            let cause = if number < MOST_CAUSES { label(cause) } else { OTHER.to_owned() };
            let sum: &mut u64 = failures.entry(cause).or_default();
            *sum = sum.saturating_add(*count);
        }
        Self {
            up: matches!(pod.contact, Contact::Reached { .. }),
            ipus: uses(&pod.ipus).into(),
            pool: pool(pod),
            usual_create: pod.usual_create,
            counters: ControllerCounters { failures, ..pod.counters },
        }
    }
}

/// The partitions of a pool by state. Each state is there, so that its series never ends.
fn pool(pod: &Pod) -> BTreeMap<&'static str, u64> {
    if pod.pool.is_empty() && pod.missing.is_empty() {
        return BTreeMap::new();
    }
    let count = |state| pod.pool.iter().filter(|it| it.state == state).count() as u64;
    let states = PoolState::ALL.into_iter().map(|state| (state.name(), count(state)));
    states.chain([("missing", pod.missing.len() as u64)]).collect()
}

/// The IPUs by use.
fn uses(ipus: &Ipus) -> [(&'static str, u64); 10] {
    let Ipus { total: _, idle: _, free, drained, used, prepared, kept, leaving, .. } = *ipus;
    let Ipus { foreign, out_of_use, faulty, suspected, .. } = *ipus;
    [
        ("free", free),
        ("drained", drained),
        ("used", used),
        ("prepared", prepared),
        ("kept", kept),
        ("leaving", leaving),
        ("foreign", foreign),
        ("out_of_use", out_of_use),
        ("faulty", faulty),
        ("suspected", suspected),
    ]
    .map(|(name, count)| (name, u64::from(count)))
}

/// The partitions of a model by state. Each state is there, so that its series never ends.
fn by_state(status: &Status, model: &Model) -> BTreeMap<&'static str, InState> {
    let mut states: BTreeMap<_, _> =
        State::ALL.into_iter().map(|state| (state.name(), InState::default())).collect();
    for partition in status.partitions.iter().filter(|partition| partition.model == model.name) {
        let state = states.entry(partition.state.name()).or_default();
        state.count += 1;
        state.oldest = state.oldest.max(status.written.saturating_sub(partition.since));
    }
    states
}

/// The counts of a histogram between its bounds, and of all values above the last one.
///
/// Bounds that do not rise, and counts that fall, are left out.
pub(crate) fn between_bounds(histogram: &Histogram) -> Vec<(f64, u64)> {
    const MOST_BOUNDS: usize = 50;
    let mut between = Vec::new();
    let (mut bound, mut counted) = (f64::NEG_INFINITY, 0);
    for bucket in histogram.buckets.iter().take(MOST_BOUNDS) {
        if bucket.up_to > bound && bucket.count >= counted {
            between.push((bucket.up_to, bucket.count - counted));
            (bound, counted) = (bucket.up_to, bucket.count);
        }
    }
    between.push((f64::INFINITY, histogram.count.saturating_sub(counted)));
    between
}

/// The greatest length of a label's value in characters.
const MOST: usize = 100;

/// The name without control characters, cut to a bounded length.
pub(crate) fn label(name: &str) -> String {
    name.chars().take(MOST).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
