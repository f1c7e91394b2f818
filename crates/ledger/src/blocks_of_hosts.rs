//! Questions about a given block of IPUs: that of the hosts of a job (Mode=host).
//!
//! The job waits for its hosts, so it is not in the line of jobs that wait for any IPUs. The block is only in others'
//! hands if one of its hosts is, or after a failure.

use std::ops::Range;

use vipu_types::{ModelName, Place, PodId};

use crate::free_times::{AfterPreemption, NEVER};
use crate::{Action, Candidate, HostAction, Jobs, Ledger, Seconds};

impl Ledger {
    /// Notes the IPUs of a Pod that are known to be unusable. Others may be usable again.
    pub(crate) fn note_broken(&mut self, id: &PodId, places: Vec<Place>, todo: &mut Vec<Action>) {
        let is_any_mended = self.pods.get_mut(id).is_some_and(|pod| pod.set_broken(places));
        if is_any_mended {
            todo.push(Action::Host(HostAction::KickScheduler));
        }
    }

    /// The time at which these IPUs of a model's first controller are free. `None` if it is unknown.
    pub fn block_free_at(
        &mut self,
        model: &ModelName,
        ipus: &Range<usize>,
        jobs: &impl Jobs,
    ) -> Option<Seconds> {
        let free = self.free_times(model, jobs).block_free_at(ipus)?;
        (free != NEVER).then_some(free.max(jobs.now()))
    }

    /// The candidates whose partitions have to go before these IPUs are free. `None` if others have some of them.
    pub fn victims_on_block(
        &mut self,
        model: &ModelName,
        ipus: &Range<usize>,
        candidates: &[Candidate],
        jobs: &impl Jobs,
    ) -> Option<Vec<u32>> {
        let mut victims: Vec<u32> = Vec::new();
        let after = self.after_preemption(model, candidates, jobs);
        for state in after.first()?.get(ipus.clone())? {
            match state {
                AfterPreemption::Free => {}
                AfterPreemption::Candidate(number) => victims.push(candidates[*number].job),
                AfterPreemption::Stays => return None,
            }
        }
        victims.sort_unstable();
        victims.dedup();
        Some(victims)
    }

    /// The places of IPUs that are numbered through.
    pub fn places_of(&self, model: &ModelName, ipus: &Range<usize>) -> Vec<Place> {
        let domain = self.models.get(model).map_or(1, |model| model.facts().domain_size.get());
        ipus.clone().map(|ipu| Place::numbered(ipu, domain)).collect()
    }
}
