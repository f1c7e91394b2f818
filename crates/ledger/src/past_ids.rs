//! The ids of partitions that were removed a short while ago. No new partition gets one of them.
//!
//! Each partition has an id of its own. No create therefore waits for the removal of an earlier partition,
//! and a late remove call hits nothing new.

use std::collections::{HashMap, VecDeque};

use vipu_types::PartitionId;

use crate::Millis;

/// The time in milliseconds after a removal for which the id is not given again. Later no call for the id is
/// under way.
const APART: u64 = 3_600_000;

/// The largest number of remembered ids. The oldest are forgotten first.
const MOST: usize = 100_000;

/// The ids of partitions that were removed a short while ago.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastIds {
    /// The time at which each was removed last.
    removed: HashMap<PartitionId, Millis>,
    /// The ids and their times, the oldest first.
    by_age: VecDeque<(Millis, PartitionId)>,
}

impl PastIds {
    /// Adds the id of a partition that is gone.
    pub(crate) fn add(&mut self, now: Millis, id: PartitionId) {
        while let Some((when, oldest)) = self.by_age.front()
            && (is_long_ago(now, *when) || self.by_age.len() >= MOST)
        {
            if self.removed.get(oldest) == Some(when) {
                self.removed.remove(oldest);
            }
            self.by_age.pop_front();
        }
        self.removed.insert(id.clone(), now);
        self.by_age.push_back((now, id));
    }

    /// Whether the id was removed a short while ago.
    pub(crate) fn has(&self, now: Millis, id: &PartitionId) -> bool {
        self.removed.get(id).is_some_and(|when| !is_long_ago(now, *when))
    }
}

fn is_long_ago(now: Millis, when: Millis) -> bool {
    now.0.saturating_sub(when.0) >= APART
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(job: u32) -> PartitionId {
        PartitionId::of_run("slurm", job, 0).unwrap()
    }

    #[test]
    fn an_id_is_remembered_for_an_hour_after_its_last_removal() {
        let mut past = PastIds::default();
        past.add(Millis(0), id(1));
        past.add(Millis(1000), id(2));
        past.add(Millis(2000), id(1));
        assert!(past.has(Millis(APART), &id(1)) && past.has(Millis(APART), &id(2)));
        past.add(Millis(APART), id(3));
        assert!(past.has(Millis(APART), &id(1)));
        assert!(!past.has(Millis(APART + 1000), &id(2)) && past.has(Millis(APART + 1000), &id(1)));
        past.add(Millis(APART + 2000), id(3));
        assert_eq!((past.removed.len(), past.by_age.len()), (1, 2));
    }

    #[test]
    fn the_number_of_remembered_ids_is_bounded() {
        let mut past = PastIds::default();
        for job in 0..=MOST as u32 {
            past.add(Millis(0), id(job));
        }
        assert_eq!((past.removed.len(), past.by_age.len()), (MOST, MOST));
        assert!(!past.has(Millis(0), &id(0)) && past.has(Millis(0), &id(1)));
    }
}
