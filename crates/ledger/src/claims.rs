//! All claims, indexed by age, by partition and by job.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::ops::Bound;

use vipu_types::{JobRun, ModelName, PartitionId, PodId};

use crate::claim::Serial;
use crate::claim_counts::ClaimCounts;
use crate::claim_record::Record;
use crate::ipu_holders::IpuHolder;
use crate::partition_health::PartitionHealth;
use crate::phase_stays::{Stay, Stays};
use crate::pod::Unlisted;
use crate::refusals::NoRoom;
use crate::{Claim, Millis, Phase};

/// All claims that are not over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    records: BTreeMap<Serial, Record>,
    /// The claim that has a partition id. At most one claim has it, and answers for the id go to it.
    holders: HashMap<PartitionId, Serial>,
    /// The run of each job that has not ended.
    live: HashMap<u32, Serial>,
    counts: ClaimCounts,
    next: Serial,
    stays: Stays,
}

impl Claims {
    /// Adds a claim. Its job must have no live run, and its partition id no holder.
    pub(crate) fn add(&mut self, now: Millis, claim: Claim, phase: Phase, is_of_pool: bool) -> Serial {
        let serial = self.next;
        self.next = Serial(serial.0 + 1);
        self.holders.insert(claim.partition.clone(), serial);
        if phase.is_live() {
            self.live.insert(claim.run.job, serial);
        }
        let record = Record { is_of_pool, ..Record::new(now, claim, phase) };
        self.counts.add(serial, &record);
        self.records.insert(serial, record);
        serial
    }

    /// Puts a claim into another phase.
    pub(crate) fn enter(&mut self, now: Millis, serial: Serial, phase: Phase) {
        let Some(record) = self.records.get_mut(&serial) else { return };
        if record.phase.is_live() && !phase.is_live() {
            self.live.remove(&record.claim.run.job);
        }
        self.counts.remove(serial, record);
        let stay = Stay::until(now, record, Some(&phase));
        record.was_up |= matches!(phase, Phase::Prepared | Phase::Ready | Phase::Running);
        record.was_idle |= phase.is_idle();
        record.kept_since = record.kept_since.or_else(|| phase.is_kept().then_some(now));
        (record.phase, record.since) = (phase, now);
        self.counts.add(serial, record);
        self.stays.note(stay);
    }

    /// The stays that have ended since the last call.
    pub(crate) fn take_stays(&mut self) -> VecDeque<Stay> {
        mem::take(&mut self.stays.0)
    }

    /// Gives a prepared partition to its run, which has begun. The Slurm partition was unknown until then.
    pub(crate) fn bind(&mut self, serial: Serial, run: JobRun, slurm_partition: Option<String>) {
        if let Some(record) = self.records.get_mut(&serial) {
            self.counts.remove(serial, record);
            (record.claim.run, record.claim.slurm_partition) = (run, slurm_partition);
            self.counts.add(serial, record);
        }
    }

    /// Notes that the settings of a model change.
    pub(crate) fn outdate(&mut self, model: &ModelName) {
        let of_model = self.records.values_mut().filter(|record| record.claim.model == *model);
        of_model.for_each(|record| record.is_outdated = true);
    }

    /// Notes that the partition was idle before.
    pub(crate) fn note_reused(&mut self, partition: &PartitionId) {
        let serial = self.holders.get(partition);
        if let Some(record) = serial.and_then(|serial| self.records.get_mut(serial)) {
            record.is_reused = true;
        }
    }

    /// The claims whose jobs have no nodes yet, the oldest first.
    pub(crate) fn early(&self) -> impl Iterator<Item = (Serial, &Record)> {
        self.counts.early.iter().filter_map(|serial| self.found(serial))
    }

    /// The claims of idle partitions, the oldest first.
    pub(crate) fn idle(&self) -> impl Iterator<Item = (Serial, &Record)> {
        self.counts.idle.iter().filter_map(|serial| self.found(serial))
    }

    /// The claims of partitions that are kept for a while, the oldest first.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (Serial, &Record)> {
        self.counts.kept.iter().filter_map(|serial| self.found(serial))
    }

    /// Notes that the controller had no room.
    pub(crate) fn refused(&mut self, now: Millis, serial: Serial, is_being_cleared: bool) {
        if let Some(record) = self.records.get_mut(&serial) {
            record.no_room.get_or_insert(NoRoom::new(now)).repeated(now, is_being_cleared);
        }
    }

    /// The note that the controller had no room for a claim.
    pub(crate) fn no_room(&mut self, serial: Serial) -> Option<&mut NoRoom> {
        self.records.get_mut(&serial)?.no_room.as_mut()
    }

    /// A claim and the findings of listings about its partition.
    pub(crate) fn health(&mut self, serial: Serial) -> Option<(&Claim, &mut PartitionHealth)> {
        let Record { claim, health, .. } = self.records.get_mut(&serial)?;
        Some((claim, health))
    }

    /// Forgets a claim.
    pub(crate) fn remove(&mut self, now: Millis, serial: Serial) -> Option<Record> {
        let record = self.records.remove(&serial)?;
        self.counts.remove(serial, &record);
        self.holders.remove(&record.claim.partition);
        if record.phase.is_live() {
            self.live.remove(&record.claim.run.job);
        }
        self.stays.note(Stay::until(now, &record, None));
        Some(record)
    }

    pub(crate) fn get(&self, serial: Serial) -> Option<&Record> {
        self.records.get(&serial)
    }

    /// All claims, the oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Serial, &Record)> {
        self.records.iter().map(|(serial, record)| (*serial, record))
    }

    /// The claims after this one, the oldest first.
    pub(crate) fn after(&self, serial: Option<Serial>) -> impl Iterator<Item = (Serial, &Record)> {
        let after = serial.map_or(Bound::Unbounded, Bound::Excluded);
        self.records.range((after, Bound::Unbounded)).map(|(serial, record)| (*serial, record))
    }

    /// The job's run that has not ended.
    pub(crate) fn live(&self, job: u32) -> Option<(Serial, &Record)> {
        self.live.get(&job).and_then(|serial| self.found(serial))
    }

    /// The claim that has this partition id.
    pub(crate) fn holder(&self, partition: &PartitionId) -> Option<(Serial, &Record)> {
        self.holders.get(partition).and_then(|serial| self.found(serial))
    }

    fn found(&self, serial: &Serial) -> Option<(Serial, &Record)> {
        Some((*serial, self.records.get(serial)?))
    }

    /// Whether a claim of this Pod has the partition id. The controller of another Pod may have a stranger's
    /// partition of this name.
    pub(crate) fn holds(&self, pod: &PodId, partition: &PartitionId) -> bool {
        self.holder_on(pod, partition).is_some()
    }

    /// The claim of this Pod that has the partition id.
    fn holder_on(&self, pod: &PodId, partition: &PartitionId) -> Option<(Serial, &Record)> {
        self.holder(partition).filter(|(_, record)| is_of(&record.claim, pod))
    }

    /// The holder of the IPUs of a partition on this Pod. None if no claim has it.
    pub(crate) fn ipu_holder(&self, pod: &PodId, partition: &PartitionId) -> Option<IpuHolder> {
        self.holder_on(pod, partition).map(|(serial, record)| record.ipu_holder(serial))
    }

    /// The claims of a Pod whose partition is not `placed`, the oldest first.
    pub(crate) fn unplaced(
        &self,
        pod: &PodId,
        placed: impl Fn(&PartitionId) -> bool,
    ) -> Vec<(Serial, Unlisted)> {
        let unplaced = self.of_pod(pod).filter(|(_, record)| !placed(&record.claim.partition));
        unplaced.map(|(serial, record)| (serial, record.unlisted(serial))).collect()
    }

    /// The IPUs of all claims of a Pod, without partitions that are or were idle.
    pub(crate) fn ipus_claimed(&self, pod: &PodId) -> u64 {
        let busy = self.of_pod(pod).filter(|(_, record)| !record.was_idle);
        busy.map(|(_, record)| u64::from(record.claim.size.get())).sum()
    }

    /// The counts of all claims.
    pub(crate) fn counts(&self) -> &ClaimCounts {
        &self.counts
    }

    /// The counts of all claims, counted anew.
    pub(crate) fn counted(&self) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        self.records.iter().for_each(|(serial, record)| counts.add(*serial, record));
        counts
    }

    /// The claims of a Pod, the oldest first.
    pub(crate) fn of_pod(&self, pod: &PodId) -> impl Iterator<Item = (Serial, &Record)> {
        self.all().filter(move |(_, record)| is_of(&record.claim, pod))
    }

    /// The number of claims indexed by partition id, and by job.
    pub(crate) fn indexed(&self) -> (usize, usize) {
        (self.holders.len(), self.live.len())
    }
}

fn is_of(claim: &Claim, pod: &PodId) -> bool {
    claim.model == pod.model && claim.controller == pod.controller
}
