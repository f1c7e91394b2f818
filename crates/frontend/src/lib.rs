//! The front end: the answers to Slurm's callbacks, and the work of the host thread.
//!
//! Slurm is behind the traits of [`slurm`], clocks and queues are behind [`Outside`]. `slurmctld-vipu`
//! implements these traits on slurmctld's records, and the simulation of recovery on records of its own. Both
//! run this code.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. Code that holds the mutex fills the two queues and
//! looks up job records. It calls nothing that waits or takes the mutex again.
#![forbid(unsafe_code)]

mod about;
pub mod accounting;
mod adopt_jobs;
mod adopt_partitions;
mod between_callbacks;
mod cabling;
mod callbacks;
mod claiming;
mod expected;
mod frontend;
mod guard;
mod host_thread;
mod hosts;
mod in_slurm;
mod internal_error;
mod jobs_before;
mod keep_and_requeue;
mod launch_mark;
pub mod licenses;
mod limits;
mod models;
mod node_choice;
mod outside;
mod partition_line;
mod pool_sizes;
mod preparing;
mod request;
mod scheduling;
mod shared_ledger;
mod show_partition;
pub mod slurm;
mod slurm_partition_ipus;
mod status;
mod steering;
mod submission;
mod sync;
mod verdict;
mod waiting_job;
mod whole_times;

pub use adopt_jobs::adopt;
pub use adopt_partitions::take_over;
pub use cabling::Cabling;
pub use callbacks::{job_begin, job_fini, job_ready, undo_begin};
pub use frontend::Frontend;
pub use host_thread::HostThread;
pub use internal_error::to_user as internal_error_to_user;
pub use models::{Model, Models};
pub use outside::{HostTask, Outside};
pub use scheduling::{after, before, refused};
pub use shared_ledger::LockedLedger;
pub use status::{StatusComposer, state_name};
pub use submission::{changed, drop_forged, refuse_ipus, submitted};
pub use verdict::Verdict;
