//! What a cluster on this machine and one in containers do differently: run commands, and read and write files.

use std::fmt::Debug;

use anyhow::Result;

use crate::{ClusterCommand, Mock, Running};

/// A host on which commands run.
pub trait RunsCommands: Debug {
    /// Starts a command.
    fn start(&self, command: &ClusterCommand<'_>) -> Result<Running>;
}

/// The hosts of a cluster.
pub trait Hosts {
    /// A command where users submit jobs, as the user who does so unless told otherwise.
    fn command(&self, program: &str) -> ClusterCommand<'_>;

    /// Writes a batch script of this name for that user, and returns its path.
    fn write_script(&self, name: &str, text: &str) -> Result<String>;

    /// A file in the folder that jobs run in; empty while it is not there.
    fn job_file(&self, name: &str) -> String;

    /// The names of all files in IpuofDir, and of the folders of steps that fetched some.
    fn ipuof_names(&self) -> Result<Vec<String>>;

    /// Whether the jobs that slurmctld saved last have this text in them.
    fn has_saved(&self, text: &str) -> Result<bool>;

    /// Wants slurmctld to live.
    fn slurmctld_lives(&self) -> Result<()>;

    /// The logs of slurmctld and its backup up to now.
    fn slurmctld_logs(&self) -> Result<String>;

    /// The names of the nodes.
    fn nodes(&self) -> Vec<String>;

    /// The log of the node of this name up to now.
    fn log_of_node(&self, node: &str) -> Result<String>;

    /// The mock controllers.
    fn mocks(&self) -> &[Mock];
}
