//! The jobs of one user, for a document that hides the owners of jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Job, SCHEMA, Status};

/// The parts of the document that [`Status::without_owners`] leaves out, for the jobs of one user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnJobs {
    /// The version of the document's form, [`SCHEMA`].
    pub schema: u32,
    /// [`crate::Writer::started`] of the document. The keys are of no use with a document of another writer.
    pub started: i64,
    /// The user's partitions, by [`crate::Partition::key`].
    pub partitions: BTreeMap<u64, OwnPartition>,
    /// The user's waiting jobs, by [`crate::WaitingJob::key`].
    pub line: BTreeMap<u64, OwnWaitingJob>,
}

/// The hidden members of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPartition {
    id: Option<String>,
    job: Arc<Job>,
    reason: Option<String>,
}

/// The hidden members of a waiting job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnWaitingJob {
    job: Arc<Job>,
    reason: Option<Arc<str>>,
}

impl Status {
    /// The jobs of each user that has any.
    pub fn by_user(&self) -> BTreeMap<u32, OwnJobs> {
        let mut all: BTreeMap<u32, OwnJobs> = BTreeMap::new();
        let none = || OwnJobs { schema: SCHEMA, started: self.writer.started, ..OwnJobs::default() };
        for it in &self.partitions {
            let Some(job) = it.job.clone() else { continue };
            let own = all.entry(job.user).or_insert_with(none);
            own.partitions.insert(it.key, OwnPartition { id: it.id.clone(), job, reason: it.reason.clone() });
        }
        for it in self.line.iter().chain(&self.not_in_line) {
            let Some(job) = it.job.clone() else { continue };
            let own = all.entry(job.user).or_insert_with(none);
            own.line.insert(it.key, OwnWaitingJob { job, reason: it.reason.clone() });
        }
        all
    }

    /// Fills in the hidden members of the jobs of one user, if they are for a document of this writer.
    pub fn fill_in(&mut self, own: OwnJobs) {
        if own.schema != self.schema || own.started != self.writer.started {
            return;
        }
        for it in &mut self.partitions {
            if let Some(OwnPartition { id, job, reason }) = own.partitions.get(&it.key).cloned() {
                (it.id, it.job, it.reason) = (id, Some(job), reason);
            }
        }
        for it in self.line.iter_mut().chain(&mut self.not_in_line) {
            if let Some(OwnWaitingJob { job, reason }) = own.line.get(&it.key).cloned() {
                (it.job, it.reason) = (Some(job), reason);
            }
        }
    }
}
