//! Who waits: the plans of all models.

use std::collections::HashMap;

use vipu_types::ModelName;

use crate::plan::{Jobs, Plan, Seconds, Wish};

/// Plans of one model that others have to respect. Whoever is further back in line gets a forecast, but nobody
/// yields to him yet: he comes up as those before him start.
const MOST_PLANS: usize = 16;

/// All plans, one for each job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans(HashMap<u32, Plan>);

impl Plans {
    /// Notes a look at a waiting job. `not_before` is when the rest it needs is free, if that look told.
    ///
    /// A job that waits in several Slurm partitions is looked at in each: its best rank counts while it is seen.
    /// Returns whether that makes a difference to anybody.
    pub(crate) fn note(
        &mut self,
        wish: Wish,
        not_before: Option<Seconds>,
        now: Seconds,
        patience: i64,
    ) -> bool {
        let job = wish.job();
        let mut plan = Plan { wish, not_before: not_before.unwrap_or(now), seen: now, ranked: now };
        if let Some(before) = self.0.get(&job).filter(|before| before.wish.model == plan.wish.model) {
            if not_before.is_none() {
                plan.not_before = before.not_before;
            }
            if before.wish.rank > plan.wish.rank && now.0 - before.ranked.0 <= patience {
                (plan.wish.rank, plan.ranked) = (before.wish.rank, before.ranked);
            }
        }
        let after = (plan.wish.clone(), plan.not_before.max(now));
        self.0.insert(job, plan).is_none_or(|before| (before.wish, before.not_before.max(now)) != after)
    }

    /// Whether nobody is in line before this job.
    pub(crate) fn nobody_before(&self, wish: &Wish) -> bool {
        let mut others = self.0.values().filter(|plan| plan.wish.model == wish.model);
        others.all(|plan| plan.wish.rank <= wish.rank)
    }

    /// The job has what it wanted.
    pub(crate) fn drop_of(&mut self, job: u32) {
        self.0.remove(&job);
    }

    /// The plans of a model that count, the first in line first.
    pub(crate) fn in_force(&mut self, model: &ModelName, jobs: &impl Jobs) -> Vec<Plan> {
        let (now, patience) = (jobs.now(), jobs.patience());
        self.0.retain(|job, plan| now.0 - plan.seen.0 <= patience && jobs.waits(*job));
        let mut plans: Vec<_> = self.0.values().filter(|plan| plan.wish.model == *model).cloned().collect();
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.wish.rank));
        plans.truncate(MOST_PLANS);
        plans.iter_mut().for_each(|plan| plan.not_before = plan.not_before.max(now));
        plans
    }
}
