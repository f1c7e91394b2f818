//! `job_submit_vipu.so`: checks and completes a request at submit.
//!
//! The judging is in `vipu_slurmctld.so`, which `select_vipu.so` has loaded by the time a job comes.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
