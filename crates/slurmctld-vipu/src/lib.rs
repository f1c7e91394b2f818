//! `vipu_slurmctld.so`: what only the primary slurmctld needs.
//!
//! `select_vipu.so` loads it at the first reconfigure of a primary slurmctld and asks it from then on;
//! `job_submit_vipu.so` does too. It holds one [`site::Site`]: the ledger behind a mutex, the way to the
//! `vipu-io` thread (the driver) and the way to the `vipu-host` thread.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. While the mutex is held nothing is called that could
//! come back to it or wait: the two queues, and look-ups of job records.
#![deny(unsafe_code)]

mod about;
mod adopt;
mod after_failure;
mod callbacks;
mod deadlines;
mod desk;
mod endings;
mod expected;
#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod gate;
mod handover;
mod host_thread;
mod internal_error;
mod io_thread;
mod keeper;
mod limits;
mod models;
mod phase;
mod places;
mod prepared;
mod preparing;
mod reasons;
mod request;
mod scheduling;
mod site;
mod start_line;
mod stays;
mod submission;
mod suspended;
mod sync;
mod terminals;
mod wakes;
