//! Tells whether slurmctld has new job records when it has read its nodes.
//!
//! Up to 23.02 a reconfigure also reads the nodes, and keeps the jobs. From 23.11 on a reconfigure starts a
//! new process, and a process reads its nodes when it starts and when it takes over.

use slurm_release::Series;

use crate::running_release::loaded;

/// Whether the job records are certainly new.
pub fn are_new() -> bool {
    loaded().is_ok_and(|loaded| loaded.release.version.series() >= Series::new(23, 11))
}
