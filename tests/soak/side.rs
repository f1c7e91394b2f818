//! The ways in which jobs get their IPUs, and stock Slurm beside them.

use std::time::Duration;

use anyhow::Result;
use tempfile::TempDir;
use testbed::{Cluster, Settings, permit, write_program};

/// The time of a create, and of PrologSlurmctld on stock Slurm.
const CREATE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The partition is made when the job has its nodes.
    Configuring,
    /// The partition is made while the job waits.
    Prepared,
    /// Partitions stay for the next job.
    Reused,
    /// A fixed set of partitions.
    Pool,
    /// Stock Slurm, without our plugins.
    Stock,
}

impl Side {
    pub fn all(stock: bool) -> &'static [Self] {
        match stock {
            true => &[Self::Stock],
            false => &[Self::Configuring, Self::Prepared, Self::Reused, Self::Pool],
        }
    }

    /// The option of a job for this number of IPUs. On stock Slurm they are CPUs.
    pub fn request(self, ipus: u32) -> String {
        match self {
            Self::Stock => format!("--cpus-per-task={ipus}"),
            _ => format!("--gres=vipu:pod64:{ipus}"),
        }
    }

    /// The settings of a cluster, with a folder that has to live as long.
    pub fn settings(self) -> Result<(Settings, TempDir)> {
        let folder = tempfile::Builder::new().prefix("vipu-soak-").tempdir()?;
        let cluster = Cluster::settings().nodes(2).cpus(64).create_time(CREATE).accounting();
        let cluster = cluster.logs_stay();
        // Slurm has many errors of its own when its daemons die.
        let cluster = cluster.expect_log("error:");
        let cluster = match self {
            Self::Configuring => cluster.vipu_conf("Prepare=no"),
            Self::Prepared => cluster.vipu_conf("Prepare=all"),
            Self::Reused => cluster
                .vipu_conf("KeepIdle=20")
                .vipu_conf("KeepIdleFor=any-job")
                .vipu_conf("ReuseReset=always"),
            Self::Pool => cluster.vipu_conf("Mode=pool").vipu_conf("Pool=16x2,4x8"),
            Self::Stock => {
                let prolog = folder.path().join("prolog");
                permit(folder.path(), 0o755)?;
                write_program(&prolog, &format!("#!/bin/sh\nexec sleep {}\n", CREATE.as_secs()))?;
                cluster.without_plugin().slurm_conf(&format!("PrologSlurmctld={}", prolog.display()))
            }
        };
        // A job that backfill starts is not prepared.
        let interval =
            if self == Self::Prepared { "bf_interval=3600,sched_interval=1" } else { "bf_interval=2" };
        Ok((cluster.slurm_conf(&format!("SchedulerParameters={interval}")), folder))
    }
}
