//! What all entries so far amount to.

use std::collections::BTreeMap;

use vipu_types::PartitionId;

use super::{Entry, LiveRecord, Stage};

/// The partitions that may exist.
#[derive(Debug, Default)]
pub(super) struct Book(BTreeMap<PartitionId, LiveRecord>);

impl Book {
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Create { claim, ipuof_dir } => {
                let record =
                    LiveRecord { ipuof_dir: Some(ipuof_dir), stage: Stage::Creating, claim: claim.clone() };
                self.0.insert(claim.partition, record);
            }
            Entry::Created(partition) => {
                if let Some(record) = self.0.get_mut(&partition) {
                    record.stage = Stage::Created;
                }
            }
            Entry::Remove { claim } => {
                let record = self.0.entry(claim.partition.clone());
                let unknown = LiveRecord { ipuof_dir: None, stage: Stage::Removing, claim };
                record.or_insert(unknown).stage = Stage::Removing;
            }
            Entry::Gone(partition) => {
                self.0.remove(&partition);
            }
        }
    }

    pub fn live(&self) -> impl Iterator<Item = &LiveRecord> {
        self.0.values()
    }

    /// The fewest entries that amount to the same.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.live().flat_map(|LiveRecord { claim, ipuof_dir, stage }| {
            let create = ipuof_dir.clone().map(|ipuof_dir| Entry::Create { claim: claim.clone(), ipuof_dir });
            let after = match stage {
                Stage::Creating => None,
                Stage::Created => Some(Entry::Created(claim.partition.clone())),
                Stage::Removing => Some(Entry::Remove { claim: claim.clone() }),
            };
            create.into_iter().chain(after)
        })
    }
}
