//! How long jobs wait under several policies of scheduling: a synthetic year of jobs on one Pod.
//!
//! [`workload`] makes the jobs, [`slurm`] plays Slurm, a [`Scheduler`] says who may start: one that only counts, the
//! real [`ledger::Ledger`] before a simulated [`controller`], or one for which any free IPUs make a partition. [`report`] tells
//! how long jobs waited.
#![forbid(unsafe_code)]

pub mod best_packing;
pub mod controller;
pub mod ipu_counter;
pub mod ledger_scheduler;
pub mod policy;
pub mod report;
pub mod slurm;
pub mod workload;

pub use slurm::{Scheduler, Verdict};
pub use workload::Job;

/// IPUs in one IPU-Link domain.
pub const DOMAIN: u32 = 64;
