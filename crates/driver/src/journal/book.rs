//! The state that results from all entries so far.

use std::collections::BTreeMap;

use vipu_types::PartitionId;

use super::entry::{Entry, LiveRecord, Stage};

/// The partitions that may exist.
#[derive(Debug, Default)]
pub(super) struct Book(BTreeMap<PartitionId, LiveRecord>);

impl Book {
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Create { claim, ipuof_dir, stays } => {
                let stage = Stage::Creating;
                // A later slurmctld looks for the partition as if it were to be made.
                let before = self.0.get(&claim.partition).filter(|record| record.claim.run == claim.run);
                let launched = before.and_then(|record| record.launched);
                let record = LiveRecord { ipuof_dir, stays, stage, claim, kept_until: None, launched };
                self.0.insert(record.claim.partition.clone(), record);
            }
            Entry::Created(partition) => {
                if let Some(record) = self.0.get_mut(&partition) {
                    // A partition that is made late, after its removal was ordered, is not taken back into
                    // use.
                    record.stage = match record.stage {
                        Stage::Creating | Stage::Created => Stage::Created,
                        Stage::GivenUp | Stage::Removing => Stage::Removing,
                    };
                }
            }
            Entry::Launched { partition, at } => {
                if let Some(record) = self.0.get_mut(&partition) {
                    record.launched = Some(at);
                }
            }
            Entry::Kept { partition, until } => {
                if let Some(record) = self.0.get_mut(&partition) {
                    record.kept_until = Some(until);
                }
            }
            Entry::Remove { claim } => {
                let record = self.0.entry(claim.partition.clone());
                let unknown = LiveRecord {
                    ipuof_dir: None,
                    stays: false,
                    stage: Stage::Removing,
                    claim,
                    kept_until: None,
                    launched: None,
                };
                let record = record.or_insert(unknown);
                record.stage = match record.stage {
                    Stage::Creating | Stage::GivenUp => Stage::GivenUp,
                    Stage::Created | Stage::Removing => Stage::Removing,
                };
            }
            Entry::Gone(partition) => {
                self.0.remove(&partition);
            }
        }
    }

    pub fn live(&self) -> impl Iterator<Item = &LiveRecord> {
        self.0.values()
    }

    /// The fewest entries that result in this state.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.live().flat_map(|record| {
            let LiveRecord { claim, ipuof_dir, stays, stage, .. } = record;
            // A removal whose create is not on record has no other entry.
            let is_removal_alone = ipuof_dir.is_none() && *stage == Stage::Removing;
            let create = Entry::Create { claim: claim.clone(), ipuof_dir: ipuof_dir.clone(), stays: *stays };
            let create = (!is_removal_alone).then_some(create);
            let was_up = matches!(stage, Stage::Created | Stage::Removing);
            let is_leaving = matches!(stage, Stage::Removing | Stage::GivenUp);
            let created = was_up.then(|| Entry::Created(claim.partition.clone()));
            let launched =
                record.launched.map(|at| Entry::Launched { partition: claim.partition.clone(), at });
            let kept = record.kept().map(|until| Entry::Kept { partition: claim.partition.clone(), until });
            let remove = is_leaving.then(|| Entry::Remove { claim: claim.clone() });
            create.into_iter().chain(created).chain(launched).chain(kept).chain(remove)
        })
    }
}
