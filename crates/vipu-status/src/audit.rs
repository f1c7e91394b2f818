//! The audit log: one line of JSON for each action on a controller or of an administrator.

use serde::{Deserialize, Serialize};

/// The name of the log, in StateSaveLocation. Older logs have a number behind it; the greatest is the oldest.
pub const AUDIT_LOG: &str = "vipu_audit.jsonl";

/// The number of older logs.
pub const OLD_AUDIT_LOGS: u32 = 4;

/// A line of the audit log. Members without a meaning for the action are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// The time of the end of the action.
    pub at: i64,
    /// The action: `create` and `remove` for a call to a controller, `ready` and `gone` for its effect, `reset` for a
    /// call, `idle` and `reuse` for a partition that stays after its job and for its next job, or the request of an
    /// administrator.
    pub what: String,
    /// The administrator, or the number of the user who asked. None if slurm-vipu acted by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason: that of the administrator, or the state of the partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The IPUs or the partition that the request named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The reason for which slurmctld refused the request of an administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The Pod model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// The partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Slurm's id of the partition's job. None if no job has the partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
    /// For `reuse`: the job that had the partition before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// The numeric id of the job's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// The IPUs of the partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipus: Option<u32>,
    /// The duration of the action in seconds. For `ready` and `gone`: since the first call.
    pub seconds: f64,
    /// `ok`, or the cause of the failure.
    pub outcome: String,
}
