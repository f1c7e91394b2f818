//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use vipu_types::IpuCount;

use crate::times;

/// Shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
#[derive(Debug, Parser)]
#[command(name = "svipu", version, after_help = EXIT)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: Common,
}

const EXIT: &str = "\
svipu reads the status document vipu_status.json, which slurmctld writes. It looks for the document in
this order: --status, the variable SVIPU_STATUS, a line status = \"PATH\" in ~/.config/svipu.toml, then in
/etc/svipu.toml, and ipuof_dir= of spank_ipuof.so in plugstack.conf.

Exit status:
  0  svipu showed what was asked for.
  1  There is nothing to read, or a name is unknown.
  2  The command line is wrong.";

/// The command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show each model: its IPUs by use, controllers, jobs and limits (the default command).
    Status,
    /// List the jobs that wait for IPUs, the first in line first.
    Queue,
    /// List the partitions of jobs.
    Partitions,
    /// Draw each IPU of each Pod.
    Map {
        /// Show the whole legend, however long it is.
        #[arg(long)]
        all: bool,
    },
    /// Tell when a job could have its IPUs. Nothing is submitted.
    When {
        /// The number of IPUs: 1, 2, 4, ...
        #[arg(long, value_parser = size)]
        ipus: IpuCount,
        /// The time limit of the job, as for sbatch: minutes, H:M:S, D-H and others.
        #[arg(short, long, value_parser = duration)]
        time: Duration,
    },
    /// Show all that is known about a job.
    Job {
        /// The job: 17, 17_3 for a task of an array, or 17+1 for a component.
        id: String,
    },
    /// Show all that is known about a partition.
    Partition {
        /// The partition's id on its controller.
        id: String,
    },
    /// Serve the numbers of the document over HTTP, for Prometheus and others. It needs no rights but to
    /// read the document.
    Exporter {
        /// The address to listen on.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9877")]
        listen: SocketAddr,
    },
}

fn size(text: &str) -> Result<IpuCount, String> {
    let number: u64 = text.parse().map_err(|_| "write a number of IPUs, for example 16".to_owned())?;
    IpuCount::new(number).map_err(|why| why.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    let known = "write minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or \
                 days-hours:minutes:seconds";
    times::read_limit(text).map(Duration::from_secs).ok_or_else(|| known.to_owned())
}

/// The options of all commands.
#[derive(Debug, Default, Args)]
pub(crate) struct Common {
    /// The status document, the directory in which it is, or an exporter: http://HOST:9877/.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) status: Option<PathBuf>,
    /// Print the part of the document that the command shows, as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Leave out the age (it goes to standard error) and the heads of columns.
    #[arg(long, global = true)]
    pub(crate) noheader: bool,
    /// Show these columns, for example job,user,size (queue and partitions).
    #[arg(short = 'o', long, global = true, value_name = "COLUMNS")]
    pub(crate) format: Option<String>,
    /// Show only the jobs of this user, given by name or number.
    #[arg(short, long, global = true)]
    pub(crate) user: Option<String>,
    /// Show only this Pod model.
    #[arg(short = 'M', long, global = true)]
    pub(crate) model: Option<String>,
    /// Show only my own jobs.
    #[arg(long, global = true, conflicts_with = "user")]
    pub(crate) me: bool,
    /// Use colours. `auto` means on a terminal, unless the variable NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
}

/// The condition for colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}
