//! The nodes on which jobs are expected whose partitions are made first (`Prepare`): each is counted once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// By job.
#[derive(Default)]
pub(crate) struct Expected(Mutex<BTreeMap<u32, Nodes>>);

/// The nodes that the stock selector found for a job.
struct Nodes {
    /// Their numbers in Slurm's node table, in order.
    numbers: Vec<u32>,
    /// Whether the job shares none of them with others.
    whole: bool,
}

impl Expected {
    /// A job is to have these nodes. Whoever else was expected on one of them, and cannot be now, is not any more: those
    /// jobs are returned.
    pub(crate) fn expect(&self, job: u32, numbers: Vec<u32>, whole: bool) -> Vec<u32> {
        let mut all = self.all();
        let collides = |other: &Nodes| {
            (whole || other.whole) && other.numbers.iter().any(|number| numbers.binary_search(number).is_ok())
        };
        let others: Vec<u32> =
            all.iter().filter(|(id, it)| **id != job && collides(it)).map(|(id, _)| *id).collect();
        all.retain(|id, _| !others.contains(id));
        all.insert(job, Nodes { numbers, whole });
        others
    }

    /// The nodes that a job cannot have, which takes whole nodes or does not, as others come before it. Who is not expected
    /// any more, of whom `comes_before` knows nothing, is forgotten.
    pub(crate) fn of_others(
        &self,
        job: u32,
        whole: bool,
        comes_before: impl Fn(u32) -> Option<bool>,
    ) -> Vec<u32> {
        let mut taken = Vec::new();
        self.all().retain(|id, it| {
            let before = comes_before(*id);
            if *id != job && before == Some(true) && (whole || it.whole) {
                taken.extend_from_slice(&it.numbers);
            }
            before.is_some()
        });
        taken
    }

    /// Nobody is expected; or nobody knows where, as node numbers have changed.
    pub(crate) fn forget(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, Nodes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(expected: &Expected, job: u32, whole: bool) -> Vec<u32> {
        expected.of_others(job, whole, |other| Some(other < job))
    }

    #[test]
    fn a_node_is_counted_once_where_it_is_not_shared() {
        let expected = Expected::default();
        assert!(expected.expect(1, vec![3, 4], true).is_empty());
        assert!(expected.expect(5, vec![5], false).is_empty());
        // For those behind, and for nobody before.
        assert_eq!((taken(&expected, 2, true), taken(&expected, 2, false)), (vec![3, 4], vec![3, 4]));
        assert_eq!((taken(&expected, 6, true), taken(&expected, 6, false)), (vec![3, 4, 5], vec![3, 4]));
        assert!(taken(&expected, 0, true).is_empty() && taken(&expected, 1, true).is_empty());
        // Who comes before has the nodes, and who was expected there is not any more.
        assert_eq!(expected.expect(0, vec![2, 4, 5], false), [1]);
        assert_eq!(taken(&expected, 6, true), [2, 4, 5, 5]);
    }

    #[test]
    fn who_is_not_prepared_any_more_is_expected_nowhere() {
        let expected = Expected::default();
        expected.expect(1, vec![3], true);
        assert!(expected.of_others(2, true, |_| None).is_empty());
        assert!(taken(&expected, 2, true).is_empty());
    }
}
