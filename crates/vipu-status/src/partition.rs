//! The partition of a job.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Job, Place};

/// The partition of a job, from the decision to make it until it is confirmed gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Partition {
    /// A number that names it in all documents of one writer.
    pub key: u64,
    /// Its id on the controller. None if the reader may not know it.
    pub id: Option<String>,
    /// Its job. None if the reader may not know it.
    pub job: Option<Arc<Job>>,
    /// The Pod model.
    pub model: String,
    /// The controller.
    pub controller: String,
    /// Its IPUs.
    pub size: u32,
    /// The places of its IPUs.
    pub places: Vec<Place>,
    /// Whether the places are a guess, because the controller has not listed the partition yet.
    pub places_are_assumed: bool,
    /// Its state.
    pub state: State,
    /// The time at which it came into its state.
    pub since: i64,
    /// The time of the decision to make it.
    pub begun: i64,
    /// The latest end of its job, or of the time for which it is kept. None if it is unknown, or if the job has
    /// ended.
    pub ends: Option<i64>,
    /// Whether its job has no time limit, so that its end is unknown.
    #[serde(default)]
    pub unlimited: bool,
    /// The expected time at which it is ready, while it is being made.
    #[serde(default)]
    pub ready_expected: Option<i64>,
    /// More about its state in words, for example why it could not be made.
    pub reason: Option<String>,
}

/// The state of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is being made for a job that has no nodes yet.
    #[default]
    Preparing,
    /// It is ready for a job that has no nodes yet.
    Prepared,
    /// It is being made for a job that has its nodes.
    Creating,
    /// It is ready, and its job is being started.
    Ready,
    /// Its job runs.
    Running,
    /// It cannot be made, and its job is being sent back or ended.
    Failed,
    /// Its job failed, and it is kept for a while.
    Kept,
    /// Its job has ended, and it is removed as soon as the job's nodes are done.
    Ending,
    /// Its job has ended, and it is being reset to stay idle.
    Resetting,
    /// It has no job, and is given to the next one that fits. Its IPUs count as free.
    Idle,
    /// It is being removed.
    Removing,
}

impl State {
    /// All states.
    pub const ALL: [Self; 11] = [
        Self::Preparing,
        Self::Prepared,
        Self::Creating,
        Self::Ready,
        Self::Running,
        Self::Failed,
        Self::Kept,
        Self::Ending,
        Self::Resetting,
        Self::Idle,
        Self::Removing,
    ];

    /// The word for people and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Prepared => "prepared",
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Kept => "kept",
            Self::Ending => "ending",
            Self::Resetting => "resetting",
            Self::Idle => "idle",
            Self::Removing => "removing",
        }
    }
}

impl Partition {
    /// Whether it has a job that the reader may not know.
    pub fn has_hidden_job(&self) -> bool {
        self.job.is_none() && self.state != State::Idle
    }

    /// Leaves out its owner: job, id, and words that may name one.
    pub(crate) fn leave_out_owner(&mut self) {
        (self.id, self.job, self.reason) = (None, None, None);
    }
}
