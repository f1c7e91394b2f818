//! The waiting jobs of all models, in Slurm's order, with what is planned for them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use vipu_types::{IpuCount, ModelName};

use crate::{Jobs, Seconds};

/// Slurm's order of jobs: who is greater goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether the job asks for an advance reservation.
    pub reserved: bool,
    /// PriorityTier of the Slurm partition in which the job was looked at.
    pub tier: u16,
    /// The job's priority.
    pub priority: u32,
    /// The job; the older one goes first.
    pub job: Reverse<u32>,
}

/// What one job would like to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The Pod model.
    pub model: ModelName,
    /// The size of the partition.
    pub size: IpuCount,
    /// Its place in line, with the job's id.
    pub rank: Rank,
    /// The longest it can take.
    pub duration: Duration,
}

impl Wish {
    /// The job.
    #[must_use]
    pub fn job(&self) -> u32 {
        self.rank.job.0
    }
}

/// A wish that others have to respect.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) wish: Wish,
    /// The earliest start as far as nodes, and all else but IPUs, are concerned.
    pub(crate) not_before: Seconds,
    /// When the job was looked at last.
    pub(crate) seen: Seconds,
    /// When it had this rank last.
    pub(crate) ranked: Seconds,
    /// The start that the scheduler was told at the last look, if that told one.
    pub(crate) told: Option<Seconds>,
    /// The job that this one has to let start first: until then it may be put where that one needs it.
    pub(crate) behind: Option<u32>,
}

impl Plan {
    /// A scheduler that expects the job later than it was told knows why.
    pub(crate) fn mind_expectation(&mut self, jobs: &impl Jobs) {
        let expected = jobs.expected(self.wish.job());
        if let Some(expected) = expected.filter(|expected| self.told.is_some_and(|told| *expected > told)) {
            self.not_before = self.not_before.max(expected);
        }
    }
}

/// Plans of one model that others have to respect. Whoever is further back in line gets a forecast, but
/// nobody yields to him yet: he comes up as those before him start.
pub(crate) const MOST_PLANS: usize = 16;

/// All plans, one for each job.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingLine {
    by_job: HashMap<u32, Plan>,
    /// Who waits for which model, the last in line first.
    lines: HashMap<ModelName, BTreeSet<Rank>>,
    /// When all plans were looked through.
    swept: Option<Seconds>,
}

impl WaitingLine {
    /// Notes a look at a waiting job. `not_before` is when the rest it needs is free, if that look told.
    ///
    /// A job that waits in several Slurm partitions is looked at in each: its best rank counts while it is
    /// seen. Returns whether that makes a difference to anybody.
    pub(crate) fn note(
        &mut self,
        wish: Wish,
        not_before: Option<Seconds>,
        now: Seconds,
        patience: Duration,
    ) -> bool {
        let job = wish.job();
        let mut plan = Plan {
            wish,
            not_before: not_before.unwrap_or(now),
            seen: now,
            ranked: now,
            told: None,
            behind: None,
        };
        if let Some(before) = self.by_job.get(&job).filter(|before| before.wish.model == plan.wish.model) {
            plan.behind = before.behind;
            if not_before.is_none() {
                (plan.not_before, plan.told) = (before.not_before, before.told);
            }
            if before.wish.rank > plan.wish.rank && now.since(before.ranked) <= patience {
                (plan.wish.rank, plan.ranked) = (before.wish.rank, before.ranked);
            }
        }
        let after = (plan.wish.clone(), plan.not_before.max(now));
        let before = self.drop_of(job).map(|before| (before.wish, before.not_before.max(now)));
        self.line(&after.0.model).insert(after.0.rank);
        self.by_job.insert(job, plan);
        before.is_none_or(|before| before != after)
    }

    /// The scheduler was told when the job can start.
    pub(crate) fn tell(&mut self, job: u32, start: Option<Seconds>) {
        if let Some(plan) = self.by_job.get_mut(&job) {
            plan.told = start;
        }
    }

    /// Notes whom this job has to let start first, if it is in line; whether that is news.
    pub(crate) fn set_behind(&mut self, job: u32, behind: Option<u32>) -> bool {
        let plan = self.by_job.get_mut(&job).filter(|plan| plan.behind != behind);
        plan.map(|plan| plan.behind = behind).is_some()
    }

    /// Whom this job has to let start first, as of the last look that told.
    pub(crate) fn behind(&self, job: u32) -> Option<u32> {
        self.by_job.get(&job)?.behind
    }

    /// Whether nobody is in line before this job.
    pub(crate) fn nobody_before(&self, wish: &Wish) -> bool {
        let first = self.lines.get(&wish.model).and_then(BTreeSet::last);
        first.is_none_or(|first| *first <= wish.rank)
    }

    /// The job has what it wanted, or does not want it any more.
    pub(crate) fn drop_of(&mut self, job: u32) -> Option<Plan> {
        let plan = self.by_job.remove(&job)?;
        self.line(&plan.wish.model).remove(&plan.wish.rank);
        Some(plan)
    }

    /// The plans of a model that count, the first in line first.
    pub(crate) fn in_force(&mut self, model: &ModelName, jobs: &impl Jobs) -> Vec<Plan> {
        let (now, patience) = (jobs.now(), jobs.patience());
        let is_over = |plan: &Plan| now.since(plan.seen) > patience || !jobs.waits(plan.wish.job());
        // Whoever is far back in line need not be looked at each time.
        if self.swept.is_none_or(|swept| now.since(swept) > patience) {
            let over: Vec<_> =
                self.by_job.values().filter(|plan| is_over(plan)).map(|plan| plan.wish.job()).collect();
            over.into_iter().for_each(|job| drop(self.drop_of(job)));
            self.swept = Some(now);
        }
        let line = self.lines.get(model).into_iter().flatten().rev();
        let (mut in_force, mut over) = (Vec::new(), Vec::new());
        for rank in line {
            let Some(plan) = self.by_job.get_mut(&rank.job.0) else { continue };
            if in_force.len() == MOST_PLANS {
                break;
            }
            if is_over(plan) {
                over.push(plan.wish.job());
                continue;
            }
            plan.mind_expectation(jobs);
            in_force.push(Plan { not_before: plan.not_before.max(now), ..plan.clone() });
        }
        over.into_iter().for_each(|job| drop(self.drop_of(job)));
        in_force
    }

    fn line(&mut self, model: &ModelName) -> &mut BTreeSet<Rank> {
        self.lines.entry(model.clone()).or_default()
    }
}
