//! The tasks that have come and are not done yet.

use std::collections::{BTreeMap, VecDeque};

use vipu_types::Reason;

use crate::clocks_and_queues::HostTask;

/// The most tasks under one lock. Jobs that become ready together are launched together, and slurmctld's own threads
/// get their turns in between.
const AT_ONCE: usize = 64;

/// The most reasons under one lock, which takes about a millisecond.
const MOST_REASONS: usize = 500;

/// Tasks in the order in which they came. The reasons of waiting jobs stand apart: a pass of a scheduler over thousands
/// of jobs gives one to each, and no launch waits for them.
#[derive(Default)]
pub(super) struct WaitingTasks {
    tasks: VecDeque<HostTask>,
    /// The reason of each job. The last one counts.
    reasons: BTreeMap<u32, Reason>,
}

impl WaitingTasks {
    pub(super) fn add(&mut self, tasks: impl IntoIterator<Item = HostTask>) {
        for task in tasks {
            match task {
                HostTask::ShowReason { job, reason } => drop(self.reasons.insert(job, reason)),
                task => self.tasks.push_back(task),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.reasons.is_empty()
    }

    /// Takes the tasks that are next.
    pub(super) fn take_some(&mut self) -> Vec<HostTask> {
        self.tasks.drain(..AT_ONCE.min(self.tasks.len())).collect()
    }

    /// Takes all tasks of this kind. Returns whether there was one.
    pub(super) fn take_out(&mut self, is_one: impl Fn(&HostTask) -> bool) -> bool {
        let before = self.tasks.len();
        self.tasks.retain(|task| !is_one(task));
        self.tasks.len() < before
    }

    /// Takes some reasons, if no other task waits.
    pub(super) fn take_reasons(&mut self) -> Vec<(u32, Reason)> {
        let most = if self.tasks.is_empty() { MOST_REASONS } else { 0 };
        std::iter::from_fn(|| self.reasons.pop_first()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sched_launch_never_waits_for_reasons() {
        let reason = |job, text: &'static str| HostTask::ShowReason { job, reason: text.into() };
        let mut waiting = WaitingTasks::default();
        waiting.add((0..5000).map(|job| reason(job, "first")));
        waiting.add([HostTask::SettleAccounting]);
        waiting.add((0..5000).map(|job| reason(job, "last")));
        assert!(waiting.take_reasons().is_empty());
        assert!(matches!(waiting.take_some()[..], [HostTask::SettleAccounting]));
        let shown: Vec<_> = std::iter::repeat_with(|| waiting.take_reasons()).take(10).collect();
        assert!(shown.iter().all(|some| some.len() == MOST_REASONS) && waiting.is_empty());
        assert!(shown.iter().flatten().all(|(_, reason)| reason.brief == "last"));
        waiting.add((0..200).map(HostTask::WatchReason));
        let portions = std::iter::repeat_with(|| waiting.take_some().len()).take(5);
        assert!(portions.eq([AT_ONCE, AT_ONCE, AT_ONCE, 200 - 3 * AT_ONCE, 0]));
    }
}
