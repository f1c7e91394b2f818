//! `job_submit_vipu.so`: checks and completes a request at submit.
//!
//! The checks are in `vipu_slurmctld.so`, which `select_vipu.so` loads before the first job comes.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
