//! A synthetic year of jobs on one Pod, to compare how long jobs wait under several policies of scheduling.
//!
//! [`workload`] makes the jobs, [`slurm`] plays Slurm, and a [`Scheduler`] says which jobs may start. One
//! scheduler only counts, one is the real [`ledger::Ledger`] in front of a simulated [`controller`], and for
//! one any free IPUs make a partition. [`report`] tells how long jobs waited. [`reuse`] compares the waits of each
//! job with and without partitions that stay.
#![forbid(unsafe_code)]
// Only `cargo xtask simulate` and its tests use this crate: comments stand where a name does not say it all.
#![allow(missing_docs)]

pub mod best_packing;
pub mod controller;
pub mod ledger_scheduler;
pub mod policy;
pub mod report;
pub mod reuse;
pub mod slurm;
pub mod workload;

pub use slurm::{Scheduler, Verdict};
pub use workload::Job;

/// IPUs in one IPU-Link domain.
pub const DOMAIN: u32 = 64;
