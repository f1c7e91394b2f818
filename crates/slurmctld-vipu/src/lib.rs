//! `vipu_slurmctld.so`: what only the primary slurmctld needs.
//!
//! `select_vipu.so` loads it at the first reconfigure of a primary slurmctld and asks it from then on;
//! `job_submit_vipu.so` does too. It holds one `Plugin` (plugin.rs): the ledger behind a mutex, the way to the
//! `vipu-io` thread (the driver) and the way to the `vipu-host` thread.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. While the mutex is held nothing is called that could
//! come back to it or wait: the two queues, and look-ups of job records.
#![deny(unsafe_code)]

mod about;
mod adopt;
mod between_callbacks;
mod callbacks;
mod endings;
mod expected;
#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod host_thread;
mod internal_error;
mod io_thread;
mod job_deadlines;
mod keep_and_requeue;
mod kept_partitions;
mod launch_mark;
mod limits;
mod models;
mod phase;
mod places;
mod plugin;
mod prepared;
mod preparing;
mod reasons;
mod request;
mod saved_conf;
mod scheduling;
mod shared_ledger;
mod start_line;
mod submission;
mod suspended;
mod sync;
mod terminals;
mod wakes;
