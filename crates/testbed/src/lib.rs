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
//! Clusters are independent of each other and of other processes of the machine. Each has its own ports,
//! munge key and folder, and touches nothing else. When the process that started a cluster ends, in whatever
//! way, its daemons and jobs end too.
//!
//! A function fails when a daemon, a command or the system does not do in time what the function's comment
//! says. The error has the words of the program that refused, or names the awaited event.
#![forbid(unsafe_code)]
// Only tests and tasks of this workspace call the testbed: comments stand where a name does not say it all.
#![allow(missing_docs)]

mod batch_runs;
mod cluster;
pub mod compose;
mod conf_files;
pub mod example_site;
mod invariants;
pub mod main_job;
mod mock_controller;
pub mod page;
pub mod process;
pub mod programs;
mod settings;
mod slurm;
mod wait;

pub use cluster::{
    Account, Cluster, Disk, Failpoint, Hosts, KeptCluster, Layout, OneHost, Place, Ports, permit,
    write_program,
};
pub use mock_controller::Mock;
pub use settings::Settings;
pub use slurm::{
    ClusterCommand, Diagnosis, JobId, JobRecord, JobView, Output, Running, SavedJobs, SlowFile, SlowSave,
};
pub use wait::{next_second, say, wait_for, wait_until};
