//! How much longer or shorter each job waits if partitions stay idle after their jobs.
//!
//! A small change in time lets other jobs pass each other, and the waits of single jobs then differ by hours in
//! both directions. [`Difference::own`] has the part that a job waits itself for removals and resets. The
//! case [`Case::ShorterCreates`] shows how much the order alone changes.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use ledger::{IdleRules, KeepIdleFor, Placement, ReuseReset};

use crate::Job;
use crate::controller::{Controller, Manner};
use crate::ledger_scheduler::{Calls, Costs, LedgerScheduler, Settings};
use crate::slurm::{Outcome, Waited, play};
use crate::workload::Workload;

/// The jobs of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// [`Workload::jobs`]
    Year,
    /// [`Workload::batches`]
    Batches,
}

/// A case that is compared with partitions that are removed with their jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// No partition stays, and creates take one second less.
    ShorterCreates,
    /// Partitions stay for up to this number of seconds.
    Keep(u64, KeepIdleFor, ReuseReset),
}

#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub trace: Trace,
    pub workload: Workload,
    pub placement: Placement,
    pub costs: Costs,
}

/// The waits of all jobs, and the calls to the controller.
#[derive(Debug)]
pub struct Played {
    pub outcome: Outcome,
    pub calls: Calls,
}

impl Scene {
    pub fn jobs(&self) -> Vec<Job> {
        match self.trace {
            Trace::Year => self.workload.jobs(),
            Trace::Batches => self.workload.batches(),
        }
    }

    /// Plays the jobs; without a case, partitions are removed with their jobs.
    pub fn play(&self, case: Option<Case>) -> Played {
        let (ipus, mut costs, mut idle) = (self.workload.ipus, self.costs, IdleRules::default());
        match case {
            None => {}
            Some(Case::ShorterCreates) => costs.create -= 1,
            Some(Case::Keep(seconds, keep_for, reset)) => {
                idle = IdleRules { keep: Duration::from_secs(seconds), keep_for, reset, ..idle };
            }
        }
        let settings = Settings { placement: self.placement, has_line: true, idle, costs };
        let controller = Controller::new(ipus, Manner::Lowest);
        let mut scheduler = LedgerScheduler::new(ipus, controller, settings);
        let outcome = play(&self.jobs(), self.workload.span(), &mut scheduler);
        Played { outcome, calls: scheduler.calls }
    }
}

/// Jobs that wait longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longer {
    pub jobs: usize,
    /// The seconds of the job that is hit the most.
    pub most: i64,
}

impl Longer {
    fn of(seconds: impl Iterator<Item = i64>) -> Self {
        let longer = seconds.filter(|seconds| *seconds > 0);
        longer.fold(Self::default(), |it, seconds| Self { jobs: it.jobs + 1, most: it.most.max(seconds) })
    }
}

/// The waits of one case minus those without reuse.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The seconds of all jobs, in order.
    pub seconds: Vec<i64>,
    /// The mean in seconds of the jobs of each size.
    pub mean_of_size: Vec<(u32, f64)>,
    /// Jobs that wait for removals and resets of partitions that stayed.
    pub own: Longer,
    /// Jobs that wait longer, but not for removals and resets.
    pub by_order: Longer,
    /// Creates less than without reuse.
    pub creates: i64,
    /// IPU hours less than without reuse in creates, resets and removals.
    pub ipu_hours: i64,
}

impl Difference {
    pub fn new(without: &Played, with: &Played) -> Self {
        let before: HashMap<u32, i64> =
            without.outcome.waited.iter().map(|waited| (waited.job, waited.seconds)).collect();
        let pair = |waited: &Waited| (*waited, waited.seconds - before[&waited.job]);
        let pairs: Vec<(Waited, i64)> = with.outcome.waited.iter().map(pair).collect();
        let mut seconds: Vec<i64> = pairs.iter().map(|(_, seconds)| *seconds).collect();
        seconds.sort_unstable();
        let by_order = pairs.iter().filter(|(waited, _)| waited.own_delay <= 0);
        Self {
            seconds,
            mean_of_size: means(&pairs),
            own: Longer::of(pairs.iter().map(|(waited, _)| waited.own_delay)),
            by_order: Longer::of(by_order.map(|(_, seconds)| *seconds)),
            creates: without.calls.creates as i64 - with.calls.creates as i64,
            ipu_hours: (without.calls.ipu_seconds - with.calls.ipu_seconds) / 3600,
        }
    }

    pub fn mean(&self) -> f64 {
        self.seconds.iter().sum::<i64>() as f64 / self.seconds.len().max(1) as f64
    }

    /// The seconds that this part of the jobs does not exceed.
    pub fn quantile(&self, part: f64) -> i64 {
        let last = self.seconds.len().saturating_sub(1);
        self.seconds.get((last as f64 * part).round() as usize).copied().unwrap_or(0)
    }
}

fn means(pairs: &[(Waited, i64)]) -> Vec<(u32, f64)> {
    let mean = |size: u32| {
        let of_size = pairs.iter().filter(|(waited, _)| waited.size == size);
        let (count, sum) = of_size.fold((0_u32, 0), |(count, sum), (_, seconds)| (count + 1, sum + seconds));
        (count > 0).then(|| (size, sum as f64 / f64::from(count)))
    };
    (0..u32::BITS).filter_map(|order| mean(1 << order)).collect()
}

pub fn head() -> &'static str {
    "| wait with minus without reuse, in seconds | min | 1 % | 10 % | median | 90 % | 99 % | max | mean | wait \
     for removals and resets: jobs, at most | longer by order only: jobs, at most | creates avoided | IPU \
     hours saved |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
}

pub fn row(case: Case, it: &Difference, jobs: usize) -> String {
    let quantiles = [0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0].map(|part| it.quantile(part).to_string());
    let longer = |Longer { jobs, most }: Longer| format!("{jobs}, {most}");
    let share = 100.0 * it.creates as f64 / jobs.max(1) as f64;
    let Difference { own, by_order, creates, ipu_hours, .. } = it;
    format!(
        "| {case} | {} | {:.1} | {} | {} | {creates} ({share:.0} %) | {ipu_hours} |",
        quantiles.join(" | "),
        it.mean(),
        longer(*own),
        longer(*by_order)
    )
}

/// The means by size.
pub fn means_row(case: Case, it: &Difference) -> String {
    let means: Vec<_> = it.mean_of_size.iter().map(|(size, mean)| format!("{size}: {mean:.0}")).collect();
    format!("{case}, mean by size: {}", means.join(", "))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShorterCreates => f.write_str("no reuse, creates 1 s shorter"),
            Self::Keep(seconds, keep_for, reset) => {
                let keep_for = match keep_for {
                    KeepIdleFor::WaitingJobs => "waiting-jobs",
                    KeepIdleFor::AnyJob => "any-job",
                };
                let reset = match reset {
                    ReuseReset::Always => "always",
                    ReuseReset::OtherUsers => "other-users",
                };
                write!(f, "KeepIdle={seconds} KeepIdleFor={keep_for} ReuseReset={reset}")
            }
        }
    }
}
