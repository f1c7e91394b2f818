//! ResetPartition, and the resets with which the controller tries to mend a partition.

use super::faults::Effect;
use super::partition::{State, Step};
use super::{Nanos, Pod, Refusal};

/// The number of times that the controller tries by itself to mend a partition.
const MAX_AUTO_RESETS: u32 = 3;

impl Pod {
    /// ResetPartition. With `relocatable`, the partition moves to other IPUs if its own do not work, now and
    /// later.
    pub fn reset(&mut self, id: &str, relocatable: bool, now: Nanos) -> Result<(), Refusal> {
        self.advance(now);
        let partition = self.partitions.get_mut(id).ok_or_else(|| Refusal::not_found("partition", id))?;
        if !matches!(partition.state, State::Active | State::Failed) {
            return Err(Refusal::not_ready("only a partition that is ACTIVE or in error can be reset"));
        }
        partition.spec.relocatable |= relocatable;
        partition.resets = 0;
        partition.errors.clear();
        partition.enter(State::Resetting, now, &mut self.records);
        let up_at = now + self.settings.reset_time();
        let fault = self.faults.take(id, |effect| match effect {
            Effect::ResetError { text } => Some(Some(Step::Fail(text.clone()))),
            Effect::ResetStuck => Some(None),
            _ => None,
        });
        let step = fault.unwrap_or(Some(Step::ComeUp));
        partition.plan(step.map(|step| (up_at, step)), &mut self.agenda);
        Ok(())
    }

    /// Breaks a partition with an error that the controller tries to mend by itself.
    pub(crate) fn break_down(&mut self, id: &str, text: String, at: Nanos) {
        let Some(partition) = self.partitions.get_mut(id) else { return };
        if partition.resets >= MAX_AUTO_RESETS {
            return self.fail(id, text, at);
        }
        partition.errors = vec![text];
        partition.resets += 1;
        partition.enter(State::Resetting, at, &mut self.records);
        let up_at = at + self.settings.reset_time();
        partition.plan(Some((up_at, Step::ComeUp)), &mut self.agenda);
    }

    /// Moves a partition to sound IPUs, if it may be moved and there is a block.
    pub(crate) fn move_off(&mut self, id: &str, at: Nanos) -> bool {
        let Some(partition) = self.partitions.get_mut(id) else { return false };
        if !partition.spec.relocatable {
            return false;
        }
        partition.spec.chosen = None;
        let Ok((block, allocation)) = self.ipus.place(&partition.spec) else { return false };
        self.ipus.free.insert(partition.block);
        self.ipus.free.remove(block);
        partition.block = block;
        partition.allocation = allocation;
        if let Some(record) = self.records.get_mut(partition.record) {
            record.moves_to(block.ipus(), at);
        }
        true
    }
}
