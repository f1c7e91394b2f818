//! Partitions that are there without a job that runs on them.

use crate::{Claim, Ledger, Millis};

/// The cause for which a partition is there without a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It is made before its job starts.
    Prepared,
    /// It stays after its job has failed, since this time.
    Kept(Millis),
    /// It stays for a later job. Its IPUs count as free.
    Idle,
}

impl Ledger {
    /// All partitions that are there without a running job. Those of a pool that wait for any job are left out.
    pub fn held_without_job(&self) -> impl Iterator<Item = (&Claim, Hold)> {
        let prepared = self.claims.early().map(|(_, record)| (&record.claim, Hold::Prepared));
        let kept = self
            .claims
            .kept()
            .map(|(_, record)| (&record.claim, Hold::Kept(record.kept_since.unwrap_or(record.since))));
        let idle = self.claims.idle().map(|(_, record)| (&record.claim, Hold::Idle));
        prepared.chain(kept).chain(idle.filter(|(claim, _)| !self.in_pool(claim)))
    }
}
