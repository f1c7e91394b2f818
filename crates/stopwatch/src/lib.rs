//! `job_submit_stopwatch.so`: times other job_submit plugins, in slurmctld, on the job that is being submitted.
//!
//! For `cargo xtask bench submit`; it is not installed anywhere else. It stands before them in `JobSubmitPlugins`, calls each
//! many times on the same request, taking turns, tells the user the medians, and refuses the job.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
