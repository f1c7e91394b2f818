//! The ids of partitions that were removed a short while ago: no new partition gets one of them.
//!
//! Each partition has an id of its own. So no create waits for the removal of an earlier partition, and a
//! remove call that takes effect late hits nothing new.

use std::collections::{HashMap, VecDeque};

use vipu_types::PartitionId;

use crate::Millis;

/// How long an id is not given again after its partition was removed: no call that was sent for it is still
/// on its way then.
const APART: u64 = 3_600_000;

/// How many such ids are remembered at most; the oldest are forgotten first.
const MOST: usize = 100_000;

/// The ids of partitions that were removed a short while ago.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastIds {
    /// When each was removed last.
    removed: HashMap<PartitionId, Millis>,
    /// The same, the oldest first.
    by_age: VecDeque<(Millis, PartitionId)>,
}

impl PastIds {
    /// A partition is gone.
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
    fn no_more_ids_are_remembered_than_there_is_room_for() {
        let mut past = PastIds::default();
        for job in 0..=MOST as u32 {
            past.add(Millis(0), id(job));
        }
        assert_eq!((past.removed.len(), past.by_age.len()), (MOST, MOST));
        assert!(!past.has(Millis(0), &id(0)) && past.has(Millis(0), &id(1)));
    }
}
