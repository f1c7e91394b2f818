//! The command line of `svipu hostfile`.

use clap::Args;

use crate::interface::Interface;

/// What to print about the nodes of a job.
#[derive(Debug, Args)]
pub(crate) struct Hostfile {
    /// The job in which svipu runs, if you want it checked.
    pub(crate) job: Option<String>,
    /// The slots of each node. Without it: the job's tasks on the node.
    #[arg(long, value_name = "SLOTS", conflicts_with = "mca", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(crate) slots: Option<u32>,
    /// Print the options with which Open MPI uses the network between the nodes instead. None on one node.
    #[arg(long)]
    pub(crate) mca: bool,
    /// The network interface or the network: eth0 or 10.1.0.0/16. Without it: the one to the other nodes.
    #[arg(long, value_name = "NAME|NETWORK", requires = "mca")]
    pub(crate) interface: Option<Interface>,
}
