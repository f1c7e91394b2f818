//! The front end: what Slurm's callbacks come to, and what the thread that may take Slurm's locks does.
//!
//! Slurm itself is behind traits ([`slurm`]), clocks and threads behind another ([`Outside`]). `slurmctld-vipu`
//! implements them on slurmctld's records, the simulation of recovery on records of its own: both run this code.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. While the mutex is held nothing is called that could
//! come back to it or wait: the two queues, and look-ups of job records.
#![forbid(unsafe_code)]

mod about;
mod adopt;
mod between_callbacks;
mod callbacks;
mod claiming;
mod expected;
mod frontend;
mod guard;
mod host_thread;
mod internal_error;
mod jobs_before;
mod journal_records;
mod keep_and_requeue;
mod launch_mark;
mod limits;
mod models;
mod outside;
mod preparing;
mod request;
mod scheduling;
mod shared_ledger;
mod show_partition;
pub mod slurm;
mod slurm_partition_ipus;
mod submission;
mod sync;

pub use adopt::adopt;
pub use callbacks::{job_begin, job_fini, job_ready, undo_begin};
pub use frontend::Frontend;
pub use host_thread::HostThread;
pub use internal_error::to_user as internal_error_to_user;
pub use journal_records::take_over;
pub use models::{Model, Models};
pub use outside::{HostTask, Outside};
pub use scheduling::{Verdict, after, before};
pub use shared_ledger::LockedLedger;
pub use submission::{changed, drop_forged, refuse_ipus, submitted};
