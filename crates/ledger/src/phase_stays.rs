//! The times for which claims were in the phases that they have left, and in which their partitions were made.

use std::collections::VecDeque;

use vipu_types::{PartitionId, PodId};

use crate::claim_record::Record;
use crate::{Millis, Phase};

/// The most stays that are kept for a reader. The oldest go first.
const MOST_STAYS: usize = 4096;

/// The stay of a claim in a phase that it has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The claim's Pod.
    pub pod: PodId,
    /// The claim's partition.
    pub partition: PartitionId,
    /// The phase.
    pub phase: Phase,
    /// The phase that follows. None if the claim is over.
    pub next: Option<Phase>,
    /// The length of the stay in milliseconds.
    pub millis: u64,
    /// The milliseconds from the decision to make the partition until it was ready, if it was ready at the end
    /// of this stay.
    pub made_in: Option<u64>,
}

impl Stay {
    /// The stay of a claim in its phase, which ends now. `next` is the phase that follows, if one does.
    pub(crate) fn until(now: Millis, record: &Record, next: Option<&Phase>) -> Self {
        let is_made = !record.is_reused
            && matches!(record.phase, Phase::Preparing(_) | Phase::Claimed | Phase::Creating)
            && matches!(next, Some(Phase::Prepared | Phase::Ready));
        Self {
            pod: record.claim.pod(),
            partition: record.claim.partition.clone(),
            phase: record.phase.clone(),
            next: next.cloned(),
            millis: now.0.saturating_sub(record.since.0),
            made_in: is_made.then(|| now.0.saturating_sub(record.begun.0)),
        }
    }
}

/// The latest stays that no reader has taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stays(pub(crate) VecDeque<Stay>);

impl Stays {
    pub(crate) fn note(&mut self, stay: Stay) {
        if self.0.len() == MOST_STAYS {
            self.0.pop_front();
        }
        self.0.push_back(stay);
    }
}
