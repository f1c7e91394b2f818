//! Real munge, slurmctld, slurmd and mock controller in a directory of their own.
//!
//! ```no_run
//! # use std::time::Duration;
//! # fn main() -> anyhow::Result<()> {
//! testbed::Cluster::settings().nodes(2).run(|cluster| {
//!     let job = cluster.sbatch("hostname", &["--gres=vipu:pod64:16"])?;
//!     let ended = cluster.await_end(job, Duration::from_secs(60))?;
//!     anyhow::ensure!(ended.state == "COMPLETED");
//!     Ok(())
//! })
//! # }
//! ```
//!
//! Clusters are independent of each other and of what the machine runs: each has its own ports,
//! munge key and folder, and touches nothing else. When the process that started a cluster ends,
//! in whatever way, its daemons and jobs end too.
#![forbid(unsafe_code)]

mod account;
mod backup;
mod checker;
mod cloud;
mod cluster;
mod command;
pub mod compose;
mod conf_files;
pub mod cost;
mod daemon;
mod faults;
mod invariants;
mod job;
pub mod launch;
mod layout;
mod logs;
pub mod main_job;
mod mock;
mod nodes;
mod ports;
pub mod process;
pub mod programs;
mod queue;
mod record;
mod settings;
mod slurmctld;
mod wait;

pub use account::Account;
pub use cloud::{Cycles, Diagnosis};
pub use cluster::{Cluster, Kept};
pub use command::{ClusterCommand, Output, Running};
pub use faults::{Disk, Place};
pub use job::{JobId, JobView};
pub use layout::Layout;
pub use mock::Mock;
pub use record::JobRecord;
pub use settings::Settings;
pub use wait::{say, wait_for, wait_until};
