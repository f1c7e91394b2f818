//! What it does to waiting jobs how IPUs are scheduled: a synthetic year of jobs on one Pod, in several ways.
//!
//! [`workload`] makes the jobs, [`slurm`] plays Slurm, a [`Scheduler`] says who may start: one that only counts, the
//! real [`ledger::Ledger`] before a simulated [`controller`], or one for which packing is no matter. [`report`] tells
//! how long jobs waited.
#![forbid(unsafe_code)]

pub mod controller;
pub mod counting;
pub mod fluid;
pub mod ledgered;
pub mod report;
pub mod slurm;
pub mod way;
pub mod workload;

pub use slurm::{Scheduler, Verdict};
pub use workload::Job;

/// IPUs in one IPU-Link domain.
pub const DOMAIN: u32 = 64;
