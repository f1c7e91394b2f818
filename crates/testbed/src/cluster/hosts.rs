//! The differences between a cluster on this machine and one in containers: running commands, reading and
//! writing files.

use std::fmt::Debug;

use anyhow::Result;

use crate::{ClusterCommand, Mock, Running};

pub trait RunsCommands: Debug {
    fn start(&self, command: &ClusterCommand<'_>) -> Result<Running>;
}

/// The hosts of a cluster.
pub trait Hosts {
    /// A command on the host where users submit jobs, by default as the user who submits.
    fn command(&self, program: &str) -> ClusterCommand<'_>;

    /// Writes a batch script of this name for that user, and returns its path.
    fn write_script(&self, name: &str, text: &str) -> Result<String>;

    /// The text of a file in the folder in which jobs run. Empty if the file does not exist.
    fn job_file(&self, name: &str) -> String;

    /// The names of all files in IpuofDir, and of the folders of steps that fetched files.
    fn ipuof_names(&self) -> Result<Vec<String>>;

    /// Whether the job state that slurmctld saved last contains this text.
    fn has_saved(&self, text: &str) -> Result<bool>;

    /// Fails if slurmctld does not run.
    fn slurmctld_lives(&self) -> Result<()>;

    /// The logs of slurmctld and its backup up to now.
    fn slurmctld_logs(&self) -> Result<String>;

    fn nodes(&self) -> Vec<String>;

    fn log_of_node(&self, node: &str) -> Result<String>;

    fn mocks(&self) -> &[Mock];
}
