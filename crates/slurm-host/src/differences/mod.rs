//! The differences between Slurm's releases, one module per difference.
//!
//! The table of `slurm_release` has the offsets and sizes. select-vipu's `exports/selector.rs` says beside
//! each function of the select interface which releases have it. Everything else that the plugins use is the
//! same from 22.05 to 26.05 (SAFETY.md, "Signatures").

pub(crate) mod end_job;
pub(crate) mod gres_list;
pub mod job_modify;
pub mod jobs_read;
pub(crate) mod lock_struct;
pub mod other_cons_tres;
pub mod plugin_id;
pub(crate) mod reason_name;
pub mod refused_start;
pub(crate) mod requeue;
