//! The calls that change the Pod.

use std::time::Duration;

use vipu_client::wire::CreatePartitionRequest;

use super::faults::Effect;
use super::other_hands::LATEST_EFFECT;
use super::partition::{Partition, State, Step};
use super::placement::Block;
use super::spec::Spec;
use super::{PartitionRecord, Pod, Refusal};
use crate::nanos::Nanos;

impl Pod {
    /// CreatePartition. The partition has its IPUs from now on, and becomes ACTIVE later.
    pub fn create(&mut self, request: &CreatePartitionRequest, now: Nanos) -> Result<String, Refusal> {
        self.advance(now);
        let spec = Spec::of(request, &self.ipus.hardware)?;
        let is_kept = self.other_hands.as_ref().is_some_and(|hands| hands.keep_name(&spec.id, now));
        if is_kept || self.partitions.contains_key(&spec.id) {
            let text = format!("partition '{}' exists", spec.id);
            return Err(Refusal { code: tonic::Code::AlreadyExists, text });
        }
        let (block, allocation) = self.ipus.place(&spec)?;
        let id = spec.id.clone();
        let next = self.how_it_comes_up(&spec, now);
        self.settle(spec, (block, allocation), next, now, false);
        if let Some(hands) = &mut self.other_hands {
            hands.hide(&id, now);
        }
        Ok(id)
    }

    fn how_it_comes_up(&mut self, spec: &Spec, now: Nanos) -> Option<(Nanos, Step)> {
        let stuck = |effect: &Effect| matches!(effect, Effect::CreateStuck).then_some(());
        if self.faults.take(&spec.id, stuck).is_some() {
            return None;
        }
        let factor = self.faults.take(&spec.id, |effect| match effect {
            Effect::SlowCreate { factor } => Some(*factor),
            _ => None,
        });
        let usual = self.settings.create.as_secs_f64();
        let time = Duration::try_from_secs_f64(usual * factor.unwrap_or(1.0)).unwrap_or(Duration::MAX);
        let error = self.faults.take(&spec.id, |effect| match effect {
            Effect::CreateError { text } => Some(Step::Fail(text.clone())),
            _ => None,
        });
        Some((now + time, error.unwrap_or(Step::ComeUp)))
    }

    /// Adds a new partition at its place.
    pub(crate) fn settle(
        &mut self,
        spec: Spec,
        (block, allocation): (Block, String),
        next: Option<(Nanos, Step)>,
        now: Nanos,
        foreign: bool,
    ) {
        self.ipus.free.remove(block);
        let mut record = PartitionRecord {
            id: spec.id.clone(),
            foreign,
            made: spec.made(),
            create_request: now,
            active: None,
            remove_request: None,
            removed: None,
            tenures: Vec::new(),
            events: Vec::new(),
        };
        record.moves_to(block.ipus(), now);
        let mut partition = Partition {
            spec,
            allocation,
            block,
            state: State::Creating,
            errors: Vec::new(),
            resets: 0,
            next: None,
            record: self.records.len(),
        };
        self.records.push(record);
        partition.enter(State::Creating, now, &mut self.records);
        partition.plan(next, &mut self.agenda);
        self.partitions.insert(partition.spec.id.clone(), partition);
        self.advance(now);
    }

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
        if let Some(record) = self.records.get_mut(partition.record) {
            record.remove_request.get_or_insert(now);
        }
        partition.plan(step.map(|step| (due, step)), &mut self.agenda);
        self.advance(now);
        Ok(())
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
