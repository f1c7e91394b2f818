//! RemovePartition, and the end of a partition.

use super::faults::Effect;
use super::other_hands::LATEST_EFFECT;
use super::partition::{State, Step};
use super::{Nanos, Pod, Refusal};

impl Pod {
    /// RemovePartition. The IPUs are free once the partition is gone. A repeated call changes nothing,
    /// except the first one with `force`.
    pub fn remove(&mut self, id: &str, force: bool, now: Nanos) -> Result<(), Refusal> {
        self.advance(now);
        let Some(hands) = &mut self.other_hands else { return self.begin_removal(id, force, now) };
        match self.partitions.get_mut(id) {
            Some(partition) if !partition.state.is_leaving() => {
                let later = now + hands.up_to(LATEST_EFFECT);
                let repeated = matches!(partition.next, Some((_, Step::Remove { .. })));
                if !repeated {
                    partition.plan(Some((later, Step::Remove { force })), &mut self.agenda);
                }
                Ok(())
            }
            _ => self.begin_removal(id, force, now),
        }
    }

    /// Carries out a removal, which ends later.
    pub(crate) fn begin_removal(&mut self, id: &str, force: bool, now: Nanos) -> Result<(), Refusal> {
        let partition = self.partitions.get_mut(id).ok_or_else(|| Refusal::not_found("partition", id))?;
        let repeated = matches!(partition.state, State::Removing(_));
        if partition.state == State::Removed || repeated && !force {
            return Ok(());
        }
        let fault = if force { None } else { self.faults.take(id, removal_fault) };
        let step = fault.unwrap_or(Some(Step::Leave { forced: force }));
        let due = now + self.settings.remove;
        let due = partition.next.as_ref().filter(|_| repeated).map_or(due, |(sooner, _)| due.min(*sooner));
        if !repeated {
            partition.enter(partition.state.removing(), now, &mut self.records);
        }
        self.records[partition.record].remove_request.get_or_insert(now);
        partition.plan(step.map(|step| (due, step)), &mut self.agenda);
        self.advance(now);
        Ok(())
    }

    /// Ends a removal. The partition is shown as removed for a while.
    pub(crate) fn leave(&mut self, id: &str, forced: bool, at: Nanos) {
        let Some(block) = self.partitions.get(id).map(|partition| partition.block) else { return };
        if let Some(trouble) = self.ipus.unreachable(block).filter(|_| !forced) {
            return self.fail(id, trouble, at);
        }
        if self.settings.removed.is_zero() {
            return self.vanish(id, at);
        }
        let Some(partition) = self.partitions.get_mut(id) else { return };
        partition.enter(State::Removed, at, &mut self.records);
        partition.plan(Some((at + self.settings.removed, Step::Vanish)), &mut self.agenda);
    }

    /// Deletes a partition and frees its IPUs.
    pub(crate) fn vanish(&mut self, id: &str, at: Nanos) {
        let Some(partition) = self.partitions.remove(id) else { return };
        let shown = self.listed(&partition);
        if let Some(hands) = &mut self.other_hands {
            hands.show_removed(shown, at);
        }
        self.ipus.free.insert(partition.block);
        let record = &mut self.records[partition.record];
        record.leaves(at);
        record.removed = Some(at);
    }
}

/// Returns the end of a removal under a fault: an error, or `Some(None)` for a removal that never ends.
fn removal_fault(effect: &Effect) -> Option<Option<Step>> {
    match effect {
        Effect::RemoveStuck => Some(None),
        Effect::RemoveFail { text } => Some(Some(Step::Fail(text.clone()))),
        _ => None,
    }
}
