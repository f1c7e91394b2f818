//! The form of an entry in the file.

use std::path::PathBuf;

use ledger::{Claim, EndedRun, Seconds};
use serde::{Deserialize, Serialize};
use vipu_types::{ControllerName, EndedBy, IpuCount, JobRun, ModelName, PartitionId, Shape, Words, words};

use super::entry::Entry;

/// The form of an [`Entry`] in the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredEntry {
    Create {
        claim: ClaimFields,
        #[serde(skip_serializing_if = "Option::is_none")]
        ipuof_dir: Option<PathBuf>,
        #[serde(default, skip_serializing_if = "is_zero")]
        unanswered: u32,
    },
    /// An [`Entry::Create`] or [`Entry::Withheld`] for a partition of a pool. A slurm-vipu without pools does not know
    /// this kind, and therefore does not remove the partition. One that takes the latter for the former gives the
    /// partition to no other job for a while.
    Give {
        claim: ClaimFields,
        #[serde(skip_serializing_if = "Option::is_none")]
        ipuof_dir: Option<PathBuf>,
        /// In seconds since the Unix epoch, for an [`Entry::Withheld`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld_until: Option<i64>,
    },
    Created(PartitionId),
    /// An [`Entry::Launched`], or an [`Entry::Ended`]. An older slurm-vipu takes the latter for the former, which does
    /// no harm.
    Launched {
        partition: PartitionId,
        /// In seconds since the Unix epoch, of an [`Entry::Ended`] too.
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<EndFields>,
    },
    Kept {
        partition: PartitionId,
        /// In seconds since the Unix epoch.
        until: i64,
    },
    /// An [`Entry::Remove`], or an [`Entry::Withheld`]. An older slurm-vipu takes the latter for the former, and removes
    /// the partition once more.
    Remove {
        claim: ClaimFields,
        /// Missing in entries of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unanswered: Option<u32>,
        /// In seconds since the Unix epoch, for an [`Entry::Withheld`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld_until: Option<i64>,
    },
    Gone(PartitionId),
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The run of an [`Entry::Ended`], and the cause of its end.
#[derive(Serialize, Deserialize)]
pub(super) struct EndFields {
    run: JobRun,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<(u32, u32)>,
    by: EndedBy,
}

/// The form of a [`Claim`] in the journal.
#[derive(Serialize, Deserialize)]
pub(super) struct ClaimFields {
    partition: PartitionId,
    run: JobRun,
    /// The job array and the number of the task. Missing in entries of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<(u32, u32)>,
    user: u32,
    model: ModelName,
    /// Missing in entries from before a model could have several controllers.
    controller: Option<ControllerName>,
    size: IpuCount,
    /// Missing in entries from before users could ask for a shape.
    #[serde(default, skip_serializing_if = "Shape::is_open")]
    shape: Shape,
    /// Missing in entries from before slurm-vipu asked nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
}

impl From<&Entry> for StoredEntry {
    fn from(entry: &Entry) -> Self {
        match entry {
            Entry::Create { claim, ipuof_dir, stays, unanswered } => {
                let (claim, ipuof_dir) = (claim.into(), ipuof_dir.clone());
                match stays {
                    true => Self::Give { claim, ipuof_dir, withheld_until: None },
                    false => Self::Create { claim, ipuof_dir, unanswered: *unanswered },
                }
            }
            Entry::Created(partition) => Self::Created(partition.clone()),
            Entry::Launched { partition, at } => {
                Self::Launched { partition: partition.clone(), at: at.0, ended: None }
            }
            Entry::Ended { partition, ended: EndedRun { run, task, by, at } } => {
                let ended = Some(EndFields { run: *run, task: *task, by: *by });
                Self::Launched { partition: partition.clone(), at: at.0, ended }
            }
            Entry::Kept { partition, until } => Self::Kept { partition: partition.clone(), until: until.0 },
            Entry::Remove { claim, unanswered } => {
                Self::Remove { claim: claim.into(), unanswered: *unanswered, withheld_until: None }
            }
            Entry::Withheld { claim, ipuof_dir, stays: true, until, .. } => Self::Give {
                claim: claim.into(),
                ipuof_dir: ipuof_dir.clone(),
                withheld_until: Some(until.0),
            },
            Entry::Withheld { claim, stays: false, unanswered, until, .. } => Self::Remove {
                claim: claim.into(),
                unanswered: Some(*unanswered),
                withheld_until: Some(until.0),
            },
            Entry::Gone(partition) => Self::Gone(partition.clone()),
        }
    }
}

impl From<&Claim> for ClaimFields {
    fn from(claim: &Claim) -> Self {
        Self {
            partition: claim.partition.clone(),
            run: claim.run,
            task: claim.task,
            user: claim.user,
            model: claim.model.clone(),
            controller: Some(claim.controller.clone()),
            size: claim.size,
            shape: claim.shape,
            nodes: claim.nodes.clone(),
        }
    }
}

impl StoredEntry {
    /// The entry. `first` returns the first controller of a model, for a claim that names none.
    ///
    /// # Errors
    /// If a claim names no controller and its model has none. The error names the partition, which cannot be
    /// removed.
    pub fn entry(self, first: &impl Fn(&ModelName) -> Option<ControllerName>) -> Result<Entry, Words> {
        Ok(match self {
            Self::Create { claim, ipuof_dir, unanswered } => {
                Entry::Create { claim: claim.claim(first)?, ipuof_dir, stays: false, unanswered }
            }
            Self::Give { claim, ipuof_dir, withheld_until } => {
                let (claim, stays, unanswered) = (claim.claim(first)?, true, 0);
                match withheld_until.map(Seconds) {
                    Some(until) => Entry::Withheld { claim, ipuof_dir, stays, unanswered, until },
                    None => Entry::Create { claim, ipuof_dir, stays, unanswered },
                }
            }
            Self::Created(partition) => Entry::Created(partition),
            Self::Launched { partition, at, ended: None } => Entry::Launched { partition, at: Seconds(at) },
            Self::Launched { partition, at, ended: Some(EndFields { run, task, by }) } => {
                Entry::Ended { partition, ended: EndedRun { run, task, by, at: Seconds(at) } }
            }
            Self::Kept { partition, until } => Entry::Kept { partition, until: Seconds(until) },
            Self::Remove { claim, unanswered, withheld_until } => {
                let claim = claim.claim(first)?;
                match withheld_until.map(Seconds) {
                    Some(until) => {
                        let (ipuof_dir, stays, unanswered) = (None, false, unanswered.unwrap_or(1));
                        Entry::Withheld { claim, ipuof_dir, stays, unanswered, until }
                    }
                    None => Entry::Remove { claim, unanswered },
                }
            }
            Self::Gone(partition) => Entry::Gone(partition),
        })
    }
}

impl ClaimFields {
    fn claim(self, first: &impl Fn(&ModelName) -> Option<ControllerName>) -> Result<Claim, Words> {
        let Self { partition, run, task, user, model, controller, size, shape, nodes } = self;
        let controller = controller.or_else(|| first(&model)).ok_or_else(|| {
            words!("partition {partition} is on a controller of model {model}, which is not configured")
        })?;
        // The controller lists the places of the IPUs.
        let (slurm_partition, ipus) = (None, Vec::new());
        Ok(Claim { partition, run, task, user, model, controller, size, shape, slurm_partition, ipus, nodes })
    }
}
