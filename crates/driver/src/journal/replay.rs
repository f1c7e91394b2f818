//! The state of partitions and runs that results from all entries so far.

use std::collections::BTreeMap;

use ledger::{Claim, EndedRun};
use vipu_types::PartitionId;

use super::entry::{Entry, LiveRecord, Stage};

/// The time in seconds for which the end of a run stays on record. Slurm saves its jobs at least every five minutes
/// (`PERIODIC_CHECKPOINT` in slurmctld.h, 22.05 to 26.05).
const ENDED: i64 = 600;

/// The partitions that may exist, and the runs that have ended of late.
#[derive(Debug, Default)]
pub(super) struct Book {
    partitions: BTreeMap<PartitionId, LiveRecord>,
    /// By job and restart, with the partition.
    ended: BTreeMap<(u32, u16), (PartitionId, EndedRun)>,
}

impl Book {
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Create { claim, ipuof_dir, stays, unanswered } => {
                let stage = Stage::Creating;
                // A later slurmctld looks for the partition as if it were to be made.
                let before =
                    self.partitions.get(&claim.partition).filter(|record| record.claim.run == claim.run);
                let launched = before.and_then(|record| record.launched);
                let record =
                    LiveRecord { ipuof_dir, stays, stage, claim, kept_until: None, launched, unanswered };
                self.put(record);
            }
            Entry::Created(partition) => {
                if let Some(record) = self.partitions.get_mut(&partition).filter(|record| record.may_exist())
                {
                    // A partition that is made late, after its removal was ordered, is not taken back into
                    // use.
                    let is_wanted = matches!(record.stage, Stage::Creating | Stage::Created);
                    record.stage = if is_wanted { Stage::Created } else { Stage::Removing };
                    // The entry is written only if all create calls were answered.
                    record.unanswered = 0;
                }
            }
            Entry::Launched { partition, at } => {
                if let Some(record) = self.partitions.get_mut(&partition) {
                    record.launched = Some(at);
                }
            }
            Entry::Kept { partition, until } => {
                if let Some(record) = self.partitions.get_mut(&partition) {
                    record.kept_until = Some(until);
                }
            }
            Entry::Remove { claim, unanswered } => {
                let record = self.partitions.entry(claim.partition.clone());
                let record = record.or_insert_with(|| leaving(claim, Stage::Removing));
                let known = record.unanswered + u32::from(record.has_open_call());
                record.unanswered = unanswered.unwrap_or(known);
                record.stage = Stage::Removing;
            }
            Entry::Withheld { claim, ipuof_dir, stays, unanswered, until } => {
                let stage = Stage::Withheld(until);
                self.put(LiveRecord { ipuof_dir, stays, unanswered, ..leaving(claim, stage) });
            }
            Entry::Gone(partition) => {
                self.partitions.remove(&partition);
            }
            Entry::Ended { partition, ended } => {
                self.ended.retain(|_, (_, old)| old.at.0.saturating_add(ENDED) > ended.at.0);
                let key = (ended.run.job, ended.run.restart);
                // The first end of a run is its own. Later ones repeat it.
                if self.ended.get(&key).is_none_or(|(_, known)| known.run != ended.run) {
                    self.ended.insert(key, (partition, ended));
                }
            }
        }
    }

    fn put(&mut self, record: LiveRecord) {
        self.partitions.insert(record.claim.partition.clone(), record);
    }

    pub fn live(&self) -> impl Iterator<Item = &LiveRecord> {
        self.partitions.values()
    }

    /// The runs that have ended of late. Those of a job come in their order.
    pub fn ended(&self) -> impl Iterator<Item = &EndedRun> {
        self.ended.values().map(|(_, ended)| ended)
    }

    /// The fewest entries that result in this state.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let ended = |(partition, ended): &(PartitionId, EndedRun)| Entry::Ended {
            partition: partition.clone(),
            ended: *ended,
        };
        let partitions = self.live().flat_map(|record| {
            let LiveRecord { claim, ipuof_dir, stays, stage, unanswered, .. } = record;
            let withheld = match *stage {
                Stage::Withheld(until) => Some(Entry::Withheld {
                    claim: claim.clone(),
                    ipuof_dir: ipuof_dir.clone(),
                    stays: *stays,
                    unanswered: *unanswered,
                    until,
                }),
                _ => None,
            };
            // A removal whose create is not on record has no other entry.
            let is_removal_alone = ipuof_dir.is_none() && *stage == Stage::Removing && *unanswered == 0;
            let create = Entry::Create {
                claim: claim.clone(),
                ipuof_dir: ipuof_dir.clone(),
                stays: *stays,
                unanswered: *unanswered,
            };
            let create = (!is_removal_alone && withheld.is_none()).then_some(create);
            let is_leaving = *stage == Stage::Removing;
            let created = record.was_up().then(|| Entry::Created(claim.partition.clone()));
            let launched =
                record.launched.map(|at| Entry::Launched { partition: claim.partition.clone(), at });
            let kept = record.kept().map(|until| Entry::Kept { partition: claim.partition.clone(), until });
            let remove =
                is_leaving.then(|| Entry::Remove { claim: claim.clone(), unanswered: Some(*unanswered) });
            create.into_iter().chain(created).chain(launched).chain(kept).chain(remove).chain(withheld)
        });
        let mut all: Vec<_> = self.ended.values().collect();
        // An entry ends those that are much older.
        all.sort_by_key(|(_, ended)| ended.at);
        partitions.chain(all.into_iter().map(ended))
    }
}

/// The record of a partition whose create is not on record.
fn leaving(claim: Claim, stage: Stage) -> LiveRecord {
    LiveRecord {
        claim,
        ipuof_dir: None,
        stays: false,
        stage,
        kept_until: None,
        launched: None,
        unanswered: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ledger::Seconds;
    use vipu_types::EndedBy;

    use super::super::format;
    use super::*;
    use crate::test_claim::{claim, id};

    fn create(job: u32, unanswered: u32) -> Entry {
        let ipuof_dir = Some(Path::new("/ipuof").to_owned());
        Entry::Create { claim: claim(job), ipuof_dir, stays: false, unanswered }
    }

    fn remove(job: u32, unanswered: Option<u32>) -> Entry {
        Entry::Remove { claim: claim(job), unanswered }
    }

    /// The stage of each partition after these entries, with the number of its create calls that may come late. The
    /// text of the journal has both.
    fn after<const N: usize>(entries: [Entry; N]) -> Vec<(Stage, u32)> {
        let mut book = Book::default();
        entries.into_iter().for_each(|entry| book.apply(entry));
        let read = format::parse(&format::whole(&book).unwrap(), &|_| None).unwrap().book;
        assert!(book.live().eq(read.live()));
        let late = |it: &LiveRecord| it.unanswered + u32::from(it.has_open_call());
        book.live().map(|record| (record.stage, late(record))).collect()
    }

    #[test]
    fn the_journal_knows_which_creates_were_answered() {
        let launched = || Entry::Launched { partition: id(1), at: Seconds(7) };
        assert_eq!(after([create(1, 0)]), [(Stage::Creating, 1)], "the call may have been under way");
        assert_eq!(after([create(1, 0), launched()]), [(Stage::Creating, 0)], "it was made");
        assert_eq!(after([create(1, 2), launched()]), [(Stage::Creating, 2)], "by the third call");
        assert_eq!(after([create(1, 0), Entry::Created(id(1))]), [(Stage::Created, 0)]);
        assert_eq!(after([create(1, 0), remove(1, Some(0))]), [(Stage::Removing, 0)], "it was refused");
        assert_eq!(after([create(1, 0), remove(1, Some(1))]), [(Stage::Removing, 1)]);
        let until = Seconds(900);
        let (ipuof_dir, stays, unanswered) = (None, false, 1);
        let withheld = Entry::Withheld { claim: claim(1), ipuof_dir, stays, unanswered, until };
        assert_eq!(
            after([create(1, 0), remove(1, Some(1)), withheld.clone()]),
            [(Stage::Withheld(until), 1)]
        );
        assert_eq!(after([withheld, Entry::Gone(id(1))]), []);
        let (ipuof_dir, stays, unanswered) = (Some("/ipuof".into()), true, 0);
        let in_pool = Entry::Withheld { claim: claim(1), ipuof_dir, stays, unanswered, until };
        assert_eq!(after([in_pool]), [(Stage::Withheld(until), 0)]);
    }

    #[test]
    fn the_end_of_a_run_stays_on_record_until_slurm_has_certainly_saved_it() {
        let end = |job, at| {
            let ended = EndedRun {
                run: claim(job).run,
                task: Some((job, 7)),
                by: EndedBy::Script(3 << 8),
                at: Seconds(at),
            };
            Entry::Ended { partition: id(job), ended }
        };
        let mut book = Book::default();
        for entry in [end(1, 0), end(2, ENDED / 2), end(3, ENDED)] {
            book.apply(entry);
        }
        let read = format::parse(&format::whole(&book).unwrap(), &|_| None).unwrap().book;
        assert!(book.ended().eq(read.ended()));
        assert_eq!(read.ended().map(|ended| ended.run.job).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(read.live().count(), 0);
    }

    #[test]
    fn entries_of_older_versions_do_not_say_which_creates_were_answered() {
        let launched = Entry::Launched { partition: id(1), at: Seconds(7) };
        assert_eq!(after([create(1, 0), remove(1, None)]), [(Stage::Removing, 1)]);
        assert_eq!(after([create(1, 0), launched, remove(1, None)]), [(Stage::Removing, 0)]);
        assert_eq!(after([remove(1, None)]), [(Stage::Removing, 0)], "its create is lost");
    }
}
