//! The status document: the Pods, partitions and waiting jobs of one slurmctld, as JSON.
//!
//! `vipu_slurmctld.so` writes the document, and svipu and the exporter read it. The crate has only the types
//! of the document. It depends on no other crate of the project, so that a reader need not know the plugin.
//! docs/status.schema.json is generated from these types.
//!
//! Times are Unix times in seconds. Numbers of IPUs are counts of single IPUs. A reader must expect any text
//! in a string, because names come from users and from controllers.
//!
//! # Changes
//!
//! A new member has a default, so that readers take documents of older writers. Readers ignore members that
//! they do not know. A change that an older reader would misread raises [`SCHEMA`].
#![forbid(unsafe_code)]

mod audit;
mod counters;
mod drain;
pub mod file_names;
mod job;
mod model;
mod own_jobs;
mod partition;
mod pod;

pub use audit::{AUDIT_LOG, AuditLine, OLD_AUDIT_LOGS};
pub use counters::{Bucket, Counters, Histogram, Journal};
pub use drain::Drain;
pub use job::{Job, Rank, WaitingJob};
pub use model::{ConfFile, License, LicenseReservation, Limits, Minute, Model, Share, WholeTime, WholeTimes};
pub use own_jobs::{OwnJobs, OwnPartition, OwnWaitingJob};
pub use partition::{Partition, State};
pub use pod::{Contact, ControllerCounters, Ipus, OtherIpus, OtherUse, Place, Pod, PoolBlock, PoolState};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The time limit, in seconds, of waiting jobs without one: a year, as Slurm counts for them.
pub const UNLIMITED: u64 = 365 * 86_400;

/// The age of a document in seconds from which slurmctld may be down. slurmctld writes every 10 s.
pub const OLD: i64 = 30;

/// The version of the document's form.
pub const SCHEMA: u32 = 1;

/// The state of slurm-vipu in one slurmctld.
///
/// The writer copies it in portions, each of one moment. Two portions may be some milliseconds apart, so that
/// a list may name a partition that another list lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// The version of the document's form, [`SCHEMA`].
    pub schema: u32,
    /// The time of writing.
    pub written: i64,
    /// The writer.
    pub writer: Writer,
    /// The reason why no job with IPUs starts until slurmctld is restarted, if there is one.
    pub out_of_order: Option<String>,
    /// The Pod models, by name.
    pub models: Vec<Model>,
    /// The partitions of jobs, the oldest first.
    pub partitions: Vec<Partition>,
    /// The jobs that wait for IPUs, the first in line first.
    pub line: Vec<WaitingJob>,
    /// Pending jobs that ask for IPUs and are not in line, because Slurm has not asked for their IPUs lately:
    /// they are held, wait for a dependency or a limit, or have been submitted a moment ago. The order is that
    /// of their ids. There are 10,000 such jobs at most.
    #[serde(default)]
    pub not_in_line: Vec<WaitingJob>,
    /// The drained IPUs, the first decision first.
    #[serde(default)]
    pub drains: Vec<Drain>,
    /// The counters of the plugin.
    #[serde(default)]
    pub counters: Counters,
}

/// The plugin that wrote the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Writer {
    /// The version of slurm-vipu.
    pub version: String,
    /// The release of Slurm.
    pub slurm: String,
    /// ClusterName of slurm.conf.
    pub cluster: String,
    /// The time at which the plugin was started.
    pub started: i64,
}

/// The reason why a text is no document that this build can read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The text is no JSON, is cut off, or lacks a member.
    #[error("it is no status document: {0}")]
    Broken(#[from] serde_json::Error),
    /// A later build wrote it.
    #[error(
        "it has schema {found}, and this build reads schema {SCHEMA}; use the svipu of the slurm-vipu that wrote it"
    )]
    Newer {
        /// Its schema.
        found: u32,
    },
}

impl Status {
    /// Reads a document.
    ///
    /// # Errors
    /// See [`Unreadable`].
    pub fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        #[derive(Deserialize)]
        struct Schema {
            schema: u32,
        }
        let Schema { schema: found } = serde_json::from_slice(text)?;
        if found > SCHEMA {
            return Err(Unreadable::Newer { found });
        }
        Ok(serde_json::from_slice(text)?)
    }

    /// The document as JSON in one line.
    ///
    /// # Errors
    /// None is known, because each member has a form in JSON.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Writes the document as JSON in one line, without a copy of the text in memory.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_json(&self, to: impl std::io::Write) -> serde_json::Result<()> {
        serde_json::to_writer(to, self)
    }

    /// All jobs that the reader may know.
    pub fn jobs_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        let waiting = self.line.iter_mut().chain(&mut self.not_in_line).map(|it| &mut it.job);
        let jobs = self.partitions.iter_mut().map(|it| &mut it.job).chain(waiting);
        jobs.filter_map(|job| job.as_mut().map(Arc::make_mut))
    }

    /// The document without reservations. The starts of jobs in it heed them.
    #[must_use]
    pub fn without_reservations(mut self) -> Self {
        self.models.iter_mut().for_each(|model| model.license = None);
        self
    }

    /// The document for all users: jobs, users and partition ids of others are left out.
    #[must_use]
    pub fn without_owners(mut self) -> Self {
        self.partitions.iter_mut().for_each(Partition::leave_out_owner);
        self.line.iter_mut().chain(&mut self.not_in_line).for_each(WaitingJob::leave_out_owner);
        self
    }
}

#[cfg(test)]
mod tests;
