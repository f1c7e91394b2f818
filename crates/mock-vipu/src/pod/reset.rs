//! ResetPartition.

use super::faults::Effect;
use super::partition::{State, Step};
use super::{Nanos, Pod, Refusal};

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
}
