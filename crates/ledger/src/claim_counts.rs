//! Counts of all claims. A scheduler asks about each waiting job, under slurmctld's locks. The counts save
//! these questions a walk through all claims.

use std::collections::{BTreeMap, BTreeSet};

use vipu_types::ModelName;

use crate::claim::Serial;
use crate::claim_record::Record;

/// The counts. Counts of zero have no entry, so that the counts of the same claims are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimCounts {
    models: BTreeMap<ModelName, OfModel>,
    /// The claims whose jobs have no nodes yet.
    pub(crate) early: BTreeSet<Serial>,
    /// The claims of idle partitions.
    pub(crate) idle: BTreeSet<Serial>,
    /// The claims of partitions that are kept for a while.
    pub(crate) kept: BTreeSet<Serial>,
}

/// The counts of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfModel {
    /// The IPUs of partitions of failed runs.
    kept: u64,
    /// The number of claims whose jobs have no nodes yet, by user.
    early: BTreeMap<u32, u64>,
    /// The IPUs of the jobs of each Slurm partition, except for those being released.
    in_slurm_partition: BTreeMap<String, u64>,
}

impl ClaimCounts {
    /// Counts a claim.
    pub(crate) fn add(&mut self, serial: Serial, record: &Record) {
        if record.phase.is_early() {
            self.early.insert(serial);
        }
        if record.phase.is_idle() {
            self.idle.insert(serial);
        }
        if record.phase.is_kept() {
            self.kept.insert(serial);
        }
        self.change(record, u64::saturating_add);
    }

    /// Takes a claim out of the counts. It has to be unchanged since it was counted.
    pub(crate) fn remove(&mut self, serial: Serial, record: &Record) {
        self.early.remove(&serial);
        self.idle.remove(&serial);
        self.kept.remove(&serial);
        self.change(record, u64::saturating_sub);
    }

    fn change(&mut self, record: &Record, by: fn(u64, u64) -> u64) {
        let Record { claim, phase, .. } = record;
        let (counts, ipus) =
            (self.models.entry(claim.model.clone()).or_default(), u64::from(claim.size.get()));
        if phase.is_kept() {
            counts.kept = by(counts.kept, ipus);
        }
        if phase.is_early() {
            change_entry(&mut counts.early, claim.user, |count| by(count, 1));
        }
        if let Some(name) = claim.slurm_partition.as_ref().filter(|_| phase.is_live() || phase.is_kept()) {
            change_entry(&mut counts.in_slurm_partition, name.clone(), |count| by(count, ipus));
        }
        if *counts == OfModel::default() {
            self.models.remove(&claim.model);
        }
    }

    /// The number of claims of a user and a model whose jobs have no nodes yet.
    pub(crate) fn early_of(&self, model: &ModelName, user: u32) -> u64 {
        self.models.get(model).and_then(|counts| counts.early.get(&user)).copied().unwrap_or(0)
    }

    /// The IPUs of a model in partitions of failed runs.
    pub(crate) fn kept_ipus(&self, model: &ModelName) -> u64 {
        self.models.get(model).map_or(0, |counts| counts.kept)
    }

    /// The IPUs of a model that the jobs of a Slurm partition have.
    pub(crate) fn in_slurm_partition(&self, model: &ModelName, name: &str) -> u64 {
        let counts = self.models.get(model).and_then(|counts| counts.in_slurm_partition.get(name));
        counts.copied().unwrap_or(0)
    }
}

fn change_entry<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, change: impl FnOnce(u64) -> u64) {
    let count = counts.get(&key).copied().unwrap_or(0);
    match change(count) {
        0 => drop(counts.remove(&key)),
        count => drop(counts.insert(key, count)),
    }
}
