//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::civil::DateTime;
use vipu_types::IpuCount;

use crate::surroundings::Surroundings;
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

The commands of administrators need root or SlurmUser on the host of slurmctld. They use the socket of
--socket, AdminSocket= of vipu.conf, or vipu_admin.socket beside SlurmctldPidFile.

Exit status:
  0  svipu showed what was asked for.
  1  There is nothing to read, a name is unknown, or slurmctld refused.
  2  The command line is wrong.";

/// The command.
#[derive(Clone, Debug, Subcommand)]
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
    /// Show all that is known about a partition, or have one removed.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Partition {
        #[command(subcommand)]
        command: Option<PartitionCommand>,
        /// The partition's id on its controller.
        #[arg(required = true)]
        id: Option<String>,
    },
    /// Let nothing new start on some IPUs (administrators). Jobs that have IPUs there go on.
    Drain {
        #[command(flatten)]
        drained: Drained,
        /// The end of the drain: 2027-01-15, 2027-01-15T12:00:00, or now+2:00:00 with a time as for --time.
        #[arg(long, value_name = "TIME", value_parser = Until::read)]
        until: Option<Until>,
    },
    /// End a drain (administrators).
    Resume(Drained),
    /// Compare the controllers' partitions with the jobs now (administrators).
    Reconcile,
}

/// A command for one partition.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PartitionCommand {
    /// Remove a partition that no running job has (administrators).
    Free {
        /// The partition's id on its controller.
        id: String,
        /// The reason, for slurmctld's log.
        #[arg(long)]
        reason: String,
        /// Remove it even if its name is not like those of this cluster.
        #[arg(long)]
        force: bool,
    },
}

/// IPUs that are drained or resumed.
#[derive(Clone, Debug, Args)]
pub(crate) struct Drained {
    /// A model, a controller as HOST:PORT, or one of its IPUs as HOST:PORT/DOMAIN:INDEX.
    #[arg(value_name = "MODEL|CONTROLLER|PLACE")]
    pub(crate) ipus: String,
    /// The reason. Users see that of a drain in squeue.
    #[arg(long)]
    pub(crate) reason: String,
}

/// The end of a drain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// A date and time of this host.
    At(DateTime),
    /// Seconds from now on.
    In(u64),
}

impl Until {
    fn read(text: &str) -> Result<Self, String> {
        let span = text.strip_prefix("now+").and_then(times::read_limit).map(Self::In);
        let known = "write 2027-01-15, 2027-01-15T12:00:00 or now+2:00:00";
        span.or_else(|| text.parse().ok().map(Self::At)).ok_or_else(|| known.to_owned())
    }

    /// The Unix time in seconds.
    pub(crate) fn after(self, surroundings: &Surroundings) -> i64 {
        match self {
            Self::At(at) => {
                let zoned = at.to_zoned(surroundings.zone.clone());
                zoned.map_or(i64::MAX, |zoned| zoned.timestamp().as_second())
            }
            Self::In(seconds) => surroundings.now.saturating_add_unsigned(seconds),
        }
    }
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
    /// The status document, or the directory in which it is.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) status: Option<PathBuf>,
    /// The admin socket of slurmctld, for the commands of administrators.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
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
