//! The labels of Pods and of what else belongs to a job.

/// The job's name.
pub const JOB_NAME: &str = "graphcore.ai/ipujob-name";

/// The job's UID.
pub const JOB_UID: &str = "graphcore.ai/ipujob-uid";

/// [`WORKER_ROLE`] or [`LAUNCHER`].
pub const ROLE: &str = "graphcore.ai/role";

/// The role of workers.
pub const WORKER_ROLE: &str = "worker";

/// The role of launchers and sessions.
pub const LAUNCHER: &str = "launcher";

/// The instance, from 0.
pub const INSTANCE: &str = "graphcore.ai/instance";

/// The number of the worker in its instance, from 0.
pub const WORKER: &str = "graphcore.ai/worker";

/// The run of the instance, from 0.
pub const RUN: &str = "graphcore.ai/run";
