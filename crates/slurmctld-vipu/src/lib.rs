//! `vipu_slurmctld.so`: the part of the plugin that only the primary slurmctld needs.
//!
//! `select_vipu.so` loads it at the first reconfigure of a primary slurmctld, and calls it from then on, as
//! `job_submit_vipu.so` does. The policy is in crate `frontend`. This crate has the exports, the threads, and
//! the front end's traits on Slurm's records.
#![deny(unsafe_code)]

mod admin;
mod audit_thread;
mod counters;
mod earlier_requests;
#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod host_thread;
mod io_thread;
mod model_files;
mod node_gres;
mod node_questions;
mod plugin;
mod public_status;
mod reporting_controller;
mod saved_conf;
mod slurm_records;
mod start_line;
mod status_thread;
mod threads;
mod uncounted;
mod user_requests;
