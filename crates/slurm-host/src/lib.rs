//! The only safe interface to a Slurm daemon.
//!
//! All `unsafe` of the workspace is in this crate and in the export modules of the plugins, but for the section of
//! [`version_note`](mod@version_note). Other code sees a safe interface. A job view cannot outlive the lock under
//! which it was obtained ([`job::JobRef`]). Only the
//! one thread that owns a [`locks::LockPermit`] can take slurmctld's locks. A callback already runs under
//! them and cannot take them again.
//!
//! Nothing of Slurm is linked. Every function and variable is looked up by name when the plugin runs
//! ([`symbols`]). Every struct member is reached through the offsets of the running release
//! ([`running_release`]). `SAFETY.md` beside this crate lists the facts about Slurm on which the SAFETY
//! comments depend.

pub mod accounting;
mod batch_step;
pub mod boundary;
pub mod conf;
pub mod differences;
mod gates;
pub mod job;
pub mod job_test;
pub mod local_time;
pub mod locks;
pub mod log;
pub mod node_gres;
pub mod node_table;
pub mod on_disk;
pub mod partitions;
pub mod plugin_identity;
pub mod plugin_table;
pub mod plugstack;
mod probe;
mod record;
pub mod reservations;
pub mod running_jobs;
pub mod running_release;
pub mod selfcheck;
pub mod shared_object;
mod slurmctld;
pub mod slurmd_gres;
pub mod stock_selector;
pub mod submit;
pub mod symbols;
pub mod threads;

pub use slurm_release as release;
pub use slurmctld::{check, is_ending};
pub use vipu_types::version_note;
