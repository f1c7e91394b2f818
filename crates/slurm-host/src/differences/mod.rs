//! What differs between Slurm's releases, one module per difference.
//!
//! Places and sizes are not here: they are in `slurm_release`'s table. Which functions the select interface
//! has in which release is written beside each function, in select-vipu's `exports/selector.rs`. All the rest
//! that the plugins use is the same from 22.05 to 26.05 (SAFETY.md, "Signatures").

pub(crate) mod end_job;
pub(crate) mod gres_list;
pub mod job_modify;
pub mod jobs_read;
pub(crate) mod lock_struct;
pub mod other_cons_tres;
pub mod plugin_id;
pub mod refusal;
pub(crate) mod requeue;
