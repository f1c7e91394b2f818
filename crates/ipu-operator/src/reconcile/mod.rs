//! What the state of a job demands next: a pure function from facts to steps.
//!
//! [`plan()`] first makes the decisions that the facts demand, such as that a run has failed and another follows.
//! They go into the job's status before anything is done about them, so an operator that begins anew knows them.
//! Everything else is read from Pods and partitions, and done again if it was lost.
//!
//! IPUs are freed or reset only when no container of the instance runs or can start, by Pods read for this plan.

mod clean;
mod decide;
mod end;
mod instance;
pub mod labels;
mod names;
mod plan;
mod pod_facts;
mod pods;
mod restart;
mod seen;
mod show;
mod step;
mod support;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

pub use plan::plan;
pub use pod_facts::{Node, Phase, PodFacts, Role};
pub use pods::WantedPod;
pub use seen::{Partition, ReadyPartition, Seen, Settings};
pub use step::{Event, Plan, Step};
pub use support::Support;

/// The time some seconds later.
fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
