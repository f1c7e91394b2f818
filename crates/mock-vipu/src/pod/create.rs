//! CreatePartition.

use std::time::Duration;

use vipu_client::wire::CreatePartitionRequest;
use vipu_types::PartitionId;

use super::faults::Effect;
use super::partition::{Partition, State, Step};
use super::placement::Block;
use super::spec::Spec;
use super::{Nanos, PartitionRecord, Pod, Refusal};

impl Pod {
    /// CreatePartition. The partition has its IPUs from now on, and becomes ACTIVE later.
    pub fn create(&mut self, request: &CreatePartitionRequest, now: Nanos) -> Result<String, Refusal> {
        self.advance(now);
        let wanted = request.requirements.clone().unwrap_or_default();
        PartitionId::new(wanted.id.as_str()).map_err(Refusal::invalid)?;
        let spec = Spec::of(wanted, &self.ipus.hardware)?;
        let is_kept = self.other_hands.as_ref().is_some_and(|hands| hands.keep_name(&spec.id, now));
        if is_kept || self.partitions.contains_key(&spec.id) {
            let text = format!("partition '{}' exists", spec.id);
            return Err(Refusal { code: tonic::Code::AlreadyExists, text });
        }
        let place = self.ipus.place(&spec)?;
        let id = spec.id.clone();
        let next = self.time_of_create(&id).map(|time| (now + time, self.end_of_create(&id)));
        self.settle(spec, place, next, now, false);
        if let Some(hands) = &mut self.other_hands {
            hands.hide(&id, now);
        }
        Ok(id)
    }

    /// Returns the time that the create of a partition takes. None: it never ends.
    fn time_of_create(&mut self, id: &str) -> Option<Duration> {
        let stuck = |effect: &Effect| matches!(effect, Effect::CreateStuck).then_some(());
        if self.faults.take(id, stuck).is_some() {
            return None;
        }
        let factor = self.faults.take(id, |effect| match effect {
            Effect::SlowCreate { factor } => Some(*factor),
            _ => None,
        });
        let usual = self.settings.create.as_secs_f64();
        Some(Duration::try_from_secs_f64(usual * factor.unwrap_or(1.0)).unwrap_or(Duration::MAX))
    }

    /// Returns the step with which the create of a partition ends.
    fn end_of_create(&mut self, id: &str) -> Step {
        let error = self.faults.take(id, |effect| match effect {
            Effect::CreateError { text } => Some(Step::Fail(text.clone())),
            _ => None,
        });
        error.unwrap_or(Step::ComeUp)
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
            made: spec.made,
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
}
