//! The steps that a plan can have.

use k8s_openapi::jiff::Timestamp;

use super::pod_facts::Role;
use super::support::Support;
use crate::api::IpuJobStatus;

/// What is to be done for a job. Steps are carried out in order. If one fails for which [`Step::is_needed_by_others`]
/// holds, the others wait for the next plan; else they are carried out all the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// The time at which the job needs a plan, if nothing happens before.
    pub again_at: Option<Timestamp>,
}

/// One step. A step that was carried out before changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Add the finalizer to the job, before anything is made for it.
    AddFinalizer,
    /// Remove it. The job may go.
    RemoveFinalizer,
    /// Replace the status, unless the job has changed since it was seen.
    SetStatus(Box<IpuJobStatus>),
    /// Record an event of the job.
    Record(Event),
    /// Read the Pods from the API server, and plan once more with them.
    Look,
    /// Make this object, or make it as it should be.
    Apply(Support),
    /// Ask the ledger for IPUs for this run of an instance. A partition of an earlier run is reset, or made anew.
    Want {
        /// The instance.
        instance: u32,
        /// Its run.
        run: u32,
    },
    /// Give the IPUs of an instance back, or do not wait for them any longer.
    Free {
        /// The instance.
        instance: u32,
    },
    /// Create a Pod for an instance's partition.
    CreatePod {
        /// The instance.
        instance: u32,
        /// Its part.
        role: Role,
    },
    /// Delete the Pod with this UID.
    DeletePod {
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// Delete the job, as its time after its end is over.
    DeleteJob,
}

/// An event for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether something went wrong.
    pub is_warning: bool,
    /// One word.
    pub reason: &'static str,
    /// One line.
    pub note: String,
}

impl Event {
    pub(super) fn normal(reason: &'static str, note: &str) -> Self {
        Self { is_warning: false, reason, note: note.to_owned() }
    }

    pub(super) fn warning(reason: &'static str, note: &str) -> Self {
        Self { is_warning: true, ..Self::normal(reason, note) }
    }
}

impl Step {
    /// Whether the other steps of a plan must not be carried out if this one fails.
    pub fn is_needed_by_others(&self) -> bool {
        matches!(self, Self::AddFinalizer | Self::SetStatus(_))
    }
}
