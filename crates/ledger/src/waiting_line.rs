//! The waiting jobs of all models, in Slurm's order, with their plans.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::time::Duration;

use vipu_types::{ControllerName, IpuCount, ModelName};

use crate::het_jobs::HetJobs;
use crate::{Jobs, Seconds};

/// Slurm's order of jobs. The greater rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether the job asks for an advance reservation.
    pub in_reservation: bool,
    /// PriorityTier of the Slurm partition in which the job was looked at.
    pub tier: u16,
    /// The job's priority.
    pub priority: u32,
    /// The job. The older one goes first.
    pub job: Reverse<u32>,
}

/// The request of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The Pod model.
    pub model: ModelName,
    /// The size of the partition.
    pub size: IpuCount,
    /// Its place in line, with the job's id.
    pub rank: Rank,
    /// The longest duration of the job.
    pub duration: Duration,
    /// The controllers whose nodes the job may use. It gets no IPUs of others. None: all of the model.
    pub controllers: Option<BTreeSet<ControllerName>>,
    /// The ids of all components of its heterogeneous job, the leader first. They start together. Empty for other jobs.
    pub components: Vec<u32>,
}

impl Wish {
    /// The job.
    pub fn job(&self) -> u32 {
        self.rank.job.0
    }

    /// Whether the job may get IPUs of this controller.
    pub fn may_use(&self, controller: &ControllerName) -> bool {
        is_among(controller, self.controllers.as_ref())
    }
}

/// Whether a controller is one of these. None: it is, whichever it is.
pub(crate) fn is_among(controller: &ControllerName, controllers: Option<&BTreeSet<ControllerName>>) -> bool {
    controllers.is_none_or(|all| all.contains(controller))
}

/// A wish that other jobs have to respect.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) wish: Wish,
    /// The earliest start as far as nodes and other needs are concerned, without the IPUs.
    pub(crate) not_before: Seconds,
    /// The time of the last look at the job.
    pub(crate) seen: Seconds,
    /// The last time at which the job had this rank.
    pub(crate) ranked: Seconds,
    /// The start that the scheduler was told at the last look, if one was told.
    pub(crate) told: Option<Seconds>,
    /// The job that has to start before this one. Until then, this job might get a place that it needs.
    pub(crate) behind: Option<u32>,
}

/// A job in line, without the notes of its schedulers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InLine {
    /// Its request.
    pub wish: Wish,
    /// The earliest start as far as nodes and other needs are concerned, without the IPUs.
    pub not_before: Seconds,
    /// The job that has to start before this one.
    pub behind: Option<u32>,
    /// The time of the last look at the job. A plan that was not looked at for [`Jobs::patience`] counts no more.
    pub seen: Seconds,
}

impl Plan {
    /// Adopts the start that the scheduler expects, if it is later than the told one. The scheduler has a
    /// reason.
    pub(crate) fn mind_expectation(&mut self, jobs: &impl Jobs) {
        let expected = jobs.expected(self.wish.job());
        if let Some(expected) = expected.filter(|expected| self.told.is_some_and(|told| *expected > told)) {
            self.not_before = self.not_before.max(expected);
        }
    }
}

/// The number of plans of one model that other jobs have to respect. A job further back in line gets a
/// forecast, but no job yields to it yet. It moves up as the jobs before it start.
pub(crate) const MOST_PLANS: usize = 16;

/// All plans, one for each job.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingLine {
    /// Boxed: up to half of the places of a large table are empty.
    by_job: HashMap<u32, Box<Plan>>,
    /// The waiting jobs of each model, the last in line first.
    lines: HashMap<ModelName, BTreeSet<Rank>>,
    het_jobs: HetJobs,
    /// The time at which all plans were last checked.
    swept: Option<Seconds>,
    /// The number of changes so far.
    changes: u64,
}

impl WaitingLine {
    /// Notes a look at a waiting job. `not_before` is the time at which its other needs are free, if the look
    /// gave one.
    ///
    /// A job that waits in several Slurm partitions is looked at in each. Its best rank counts while it is
    /// seen. Returns whether the wish or its earliest start changed.
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
                if before.told.is_some() {
                    // The told start is for the nodes of these controllers.
                    plan.wish.controllers.clone_from(&before.wish.controllers);
                }
            }
            if before.wish.rank > plan.wish.rank && now.since(before.ranked) <= patience {
                (plan.wish.rank, plan.ranked) = (before.wish.rank, before.ranked);
            }
        }
        let after = (plan.wish.clone(), plan.not_before.max(now));
        let before = self.take_out(job).map(|before| (before.wish, before.not_before.max(now)));
        self.line(&after.0.model).insert(after.0.rank);
        self.by_job.insert(job, Box::new(plan));
        let is_news = before.is_none_or(|before| before != after);
        self.changes += u64::from(is_news);
        is_news
    }

    /// The number of changes so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The jobs in line for a model up to this bound, the first in line first.
    pub(crate) fn behind_rank(&self, model: &ModelName, end: Bound<Rank>) -> impl Iterator<Item = &Plan> {
        let line = self.lines.get(model).into_iter();
        let ranks = line.flat_map(move |line| line.range((Bound::Unbounded, end)).rev());
        ranks.filter_map(|rank| self.plan_of(rank.job.0))
    }

    /// Notes the start that the scheduler was told.
    pub(crate) fn tell(&mut self, job: u32, start: Option<Seconds>) {
        if let Some(plan) = self.by_job.get_mut(&job) {
            self.changes += u64::from(plan.told != start);
            plan.told = start;
        }
    }

    /// Sets the job that has to start before this one, if this one is in line. Returns whether that is news.
    pub(crate) fn set_behind(&mut self, job: u32, behind: Option<u32>) -> bool {
        let plan = self.by_job.get_mut(&job).filter(|plan| plan.behind != behind);
        plan.map(|plan| plan.behind = behind).is_some()
    }

    /// Notes when a component of a heterogeneous job could start, as of this look.
    pub(crate) fn note_component(
        &mut self,
        components: &[u32],
        component: u32,
        start: Option<Seconds>,
        now: Seconds,
    ) {
        self.het_jobs.note(components, component, start, now);
        self.changes += 1;
    }

    /// The common start of the components of a heterogeneous job. None if their plans do not count.
    pub(crate) fn common_start(
        &self,
        components: &[u32],
        now: Seconds,
        patience: Duration,
    ) -> Option<Seconds> {
        self.het_jobs.start(components, now, patience)
    }

    /// A job in line, for readers.
    pub(crate) fn in_line(&self, plan: &Plan) -> InLine {
        let Plan { wish, not_before, behind, seen, .. } = plan.clone();
        let common = self.common_start(&wish.components, seen, Duration::MAX);
        InLine { not_before: common.map_or(not_before, |common| common.max(not_before)), wish, behind, seen }
    }

    /// The plan of a job in line.
    pub(crate) fn plan_of(&self, job: u32) -> Option<&Plan> {
        self.by_job.get(&job).map(Box::as_ref)
    }

    /// The job that has to start before this one, as of the last look that told one.
    pub(crate) fn behind(&self, job: u32) -> Option<u32> {
        self.by_job.get(&job)?.behind
    }

    /// The wish of the first job in line for a controller of a model.
    pub(crate) fn first(&self, model: &ModelName, controller: &ControllerName) -> Option<&Wish> {
        let wishes = self.lines.get(model)?.iter().rev().filter_map(|rank| self.by_job.get(&rank.job.0));
        wishes.map(|plan| &plan.wish).find(|wish| wish.may_use(controller))
    }

    /// Whether no job is in line before this one.
    pub(crate) fn nobody_before(&self, wish: &Wish) -> bool {
        let first = self.lines.get(&wish.model).and_then(BTreeSet::last);
        first.is_none_or(|first| *first <= wish.rank)
    }

    /// Removes a job that has its partition or does not want one any more.
    pub(crate) fn drop_of(&mut self, job: u32) -> Option<Plan> {
        let plan = self.take_out(job)?;
        self.het_jobs.forget(&plan.wish.components, job);
        self.changes += 1;
        Some(plan)
    }

    fn take_out(&mut self, job: u32) -> Option<Plan> {
        let plan = self.by_job.remove(&job)?;
        self.line(&plan.wish.model).remove(&plan.wish.rank);
        Some(*plan)
    }

    /// The plans of a model that count, the first in line first.
    pub(crate) fn in_force(&mut self, model: &ModelName, jobs: &impl Jobs) -> Vec<Plan> {
        let (now, patience) = (jobs.now(), jobs.patience());
        let is_over = |plan: &Plan| now.since(plan.seen) > patience || !jobs.waits(plan.wish.job());
        // Jobs far back in line are not checked each time.
        if self.swept.is_none_or(|swept| now.since(swept) > patience) {
            let over: Vec<_> =
                self.by_job.values().filter(|plan| is_over(plan)).map(|plan| plan.wish.job()).collect();
            over.into_iter().for_each(|job| drop(self.drop_of(job)));
            self.het_jobs.sweep(now, patience);
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
            let components = &plan.wish.components;
            let earliest = match components.is_empty() {
                true => now,
                false => match self.het_jobs.start(components, now, patience) {
                    Some(common) => common.max(now),
                    None => continue,
                },
            };
            in_force.push(Plan { not_before: plan.not_before.max(earliest), ..(**plan).clone() });
        }
        over.into_iter().for_each(|job| drop(self.drop_of(job)));
        in_force
    }

    fn line(&mut self, model: &ModelName) -> &mut BTreeSet<Rank> {
        self.lines.entry(model.clone()).or_default()
    }
}
