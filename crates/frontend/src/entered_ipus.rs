//! What is entered in Slurm's records for its accounting, and has to be taken back.

use std::collections::{BTreeMap, BTreeSet};

use crate::between_callbacks::BetweenCallbacks;
use crate::slurm::Waiver;
use crate::sync::Mutex;

/// The records that differ from what Slurm wrote.
#[derive(Default)]
pub(crate) struct EnteredIpus {
    /// The job that has begun, until Slurm has its allocation.
    pub(crate) begun: BetweenCallbacks<u32, ()>,
    /// The jobs whose allocation has the number of IPUs in place of Slurm's mark.
    pub(crate) jobs: Mutex<BTreeSet<u32>>,
    /// The waivers of limits, by the job whose record got each.
    pub(crate) waivers: Mutex<BTreeMap<u32, Waiver>>,
}

impl EnteredIpus {
    /// Notes that Slurm makes the job's allocation next.
    pub(crate) fn begins(&self, job: u32) {
        self.begun.leave(job, ());
    }
}
