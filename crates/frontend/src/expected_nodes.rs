//! Nodes on which jobs are expected whose partitions are made first (`Prepare`). Each node counts once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The expected nodes, by job.
#[derive(Default)]
pub(crate) struct Expected(Mutex<BTreeMap<u32, Nodes>>);

/// The nodes that the stock selector found for a job.
struct Nodes {
    /// Their numbers in Slurm's node table, in ascending order.
    numbers: Vec<u32>,
    /// Whether the job shares none of them with other jobs.
    whole: bool,
}

impl Expected {
    /// Expects a job on these nodes. Returns the jobs that cannot have their nodes any more, and forgets
    /// them.
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

    /// The nodes that this job cannot have, because jobs before it are expected there. `whole` says that the
    /// job takes whole nodes. A job for which `comes_before` returns `None` is forgotten.
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

    /// Forgets all jobs: none is expected any more, or node numbers have changed.
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
    fn a_node_that_is_not_shared_is_counted_once() {
        let expected = Expected::default();
        assert!(expected.expect(1, vec![3, 4], true).is_empty());
        assert!(expected.expect(5, vec![5], false).is_empty());
        // The nodes are taken for later jobs, and for no earlier job.
        assert_eq!((taken(&expected, 2, true), taken(&expected, 2, false)), (vec![3, 4], vec![3, 4]));
        assert_eq!((taken(&expected, 6, true), taken(&expected, 6, false)), (vec![3, 4, 5], vec![3, 4]));
        assert!(taken(&expected, 0, true).is_empty() && taken(&expected, 1, true).is_empty());
        // An earlier job gets the nodes, and the job that was expected there loses them.
        assert_eq!(expected.expect(0, vec![2, 4, 5], false), [1]);
        assert_eq!(taken(&expected, 6, true), [2, 4, 5, 5]);
    }

    #[test]
    fn a_job_without_a_preparation_is_expected_nowhere() {
        let expected = Expected::default();
        expected.expect(1, vec![3], true);
        assert!(expected.of_others(2, true, |_| None).is_empty());
        assert!(taken(&expected, 2, true).is_empty());
    }
}
