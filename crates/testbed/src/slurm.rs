//! Slurm's daemons and commands on a running cluster.

mod backup_slurmctld;
mod cloud_nodes;
mod command;
mod job;
mod job_record;
mod nodes;
mod saved_state;
mod sdiag;
mod slurmctld;

pub(crate) use command::next_number;
pub use command::{ClusterCommand, Output, Running};
pub use job::{JobId, JobView};
pub use job_record::JobRecord;
pub use saved_state::{SavedJobs, SlowFile, SlowSave};
pub use sdiag::Diagnosis;
