//! The command line.

pub(crate) mod options;

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use vipu_types::Words;

use crate::page::Colours;
use crate::surroundings::Surroundings;
use crate::{examples, times};
use options::{Conf, Container, Hostfile, PartitionCommand, Steering, Wanted};

/// Shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
#[derive(Debug, Parser)]
#[command(name = "svipu", version, after_help = examples::SVIPU)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Arguments {
    /// The time between two pages, if the command is repeated.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        let command = self.command.as_ref().unwrap_or(&Command::Status);
        self.common.interval().filter(|_| command.can_be_repeated())
    }

    /// Whether the command line asks for a live screen that this terminal can show, or for a picture of it.
    #[must_use]
    pub fn is_live(&self, surroundings: &Surroundings) -> bool {
        let prints = self.common.json || self.common.noheader || self.common.format.is_some();
        let Some(Command::Top { svg }) = &self.command else { return false };
        let draws = surroundings.terminal && surroundings.variable("TERM").is_none_or(|name| name != "dumb");
        (svg.is_some() || draws) && !prints
    }

    /// The file for a picture.
    pub(crate) fn picture(&self) -> Option<&Path> {
        match &self.command {
            Some(Command::Map { svg, .. } | Command::Plan { svg, .. } | Command::Top { svg }) => {
                svg.as_deref()
            }
            _ => None,
        }
    }
}

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
    #[command(after_help = examples::MAP)]
    Map {
        /// Show the whole legend, however long it is.
        #[arg(long)]
        all: bool,
        /// Write a picture to this file instead, or to standard output if it is `-`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "json"])]
        svg: Option<PathBuf>,
    },
    /// Draw who has which IPUs in the next hours.
    #[command(after_help = examples::PLAN)]
    Plan {
        /// The number of hours.
        #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=720))]
        hours: u16,
        /// Show all groups of IPUs and the whole legend.
        #[arg(long)]
        all: bool,
        /// Write a picture to this file instead, or to standard output if it is `-`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "json"])]
        svg: Option<PathBuf>,
    },
    /// Watch the Pods, the partitions and the waiting jobs on a live screen. F1 or h explains the keys.
    Top {
        /// Write a picture of the screen to this file instead, or to standard output if it is `-`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "noheader", "format"])]
        svg: Option<PathBuf>,
    },
    /// Tell when a job could have its IPUs. Nothing is submitted.
    #[command(after_help = examples::WHEN)]
    When {
        /// The number of IPUs: 1, 2, 4, ...
        #[arg(long, value_parser = number)]
        ipus: u64,
        /// The time limit of the job, as for sbatch: minutes, H:M:S, D-H and others.
        #[arg(short, long, value_parser = duration)]
        time: Duration,
    },
    /// Tell in sentences why a job waits, when it is expected to start, and what would help.
    #[command(after_help = examples::WHY)]
    Why {
        /// The job: 42, 42_3 (task of an array), 42+1 (component), or its partition. Without it: your jobs.
        id: Option<String>,
    },
    /// Show all that is known about a job.
    #[command(after_help = examples::JOB)]
    Job {
        /// The job: 42, 42_3 (task of an array), 42+1 (component), or its partition.
        id: String,
    },
    /// Show who has an IPU, now and next.
    #[command(after_help = examples::IPU)]
    Ipu {
        /// The place: DOMAIN:INDEX, as in the map, or DOMAIN.INDEX; HOST:PORT/DOMAIN:INDEX of one controller.
        #[arg(value_parser = Wanted::parse, value_name = "PLACE")]
        wanted: Wanted,
    },
    /// Show the partitions and waiting jobs of a user, and when the next one can start.
    #[command(after_help = examples::USER)]
    User {
        /// The user, by name or number. Without it: you.
        name: Option<String>,
    },
    /// Show the limits of Slurm's accounting on the IPUs of a user, and their use. This asks slurmctld.
    #[command(after_help = examples::LIMITS)]
    Limits {
        /// The user, by name or number. Without it: you.
        name: Option<String>,
    },
    /// Print the variables with which programs find the IPUs of one's own job, running or kept (--ipu-keep).
    ///
    /// For ssh sessions and containers: eval "$(svipu env 42)".
    #[command(after_help = examples::ENV)]
    Env {
        /// The job. Without it, the job in which svipu runs, or your only running job.
        job: Option<String>,
        /// The GCD whose IPUoF file the program reads.
        #[arg(long, default_value_t = 0)]
        gcd: u32,
        #[command(flatten)]
        container: Container,
    },
    /// Print the nodes of the job in which svipu runs, as a host file of Open MPI: for mpirun and poprun.
    #[command(after_help = examples::HOSTFILE)]
    Hostfile(Hostfile),
    /// Find what this installation gets wrong, on any host. Nothing is changed.
    Doctor {
        /// The slurm.conf of this host, if it is in an unusual place.
        #[arg(long, value_name = "FILE")]
        slurm_conf: Option<PathBuf>,
    },
    /// Show all that is known about a partition, or have one removed.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    #[command(after_help = examples::PARTITION)]
    Partition {
        #[command(subcommand)]
        command: Option<PartitionCommand>,
        /// The partition's id on its controller, or its job.
        #[arg(required = true)]
        id: Option<String>,
    },
    #[command(flatten)]
    Steer(Steering),
    /// Print the completion of commands and options for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the man pages to a directory.
    Man {
        /// The directory.
        directory: PathBuf,
    },
    /// Check, show or write the configuration: vipu.conf and the files of models.
    #[command(subcommand)]
    Conf(Conf),
    /// Show what a site has to change that runs IPU jobs by vipu-cli, scripts or a patched Slurm.
    ///
    /// The changes of slurm.conf and the files beside it come as a diff. Nothing is written.
    Migrate {
        /// The slurm.conf to read. Without it: the one that Slurm's commands read.
        #[arg(long, value_name = "PATH")]
        slurm_conf: Option<PathBuf>,
        /// Keep partitions made in advance (Gres=vipu:16:4), as a pool (Mode=pool).
        #[arg(long)]
        pool: bool,
    },
    /// Serve the numbers of the document over HTTP, for Prometheus and others.
    Exporter {
        /// The address or name to listen on. Without one, as in :9877: all IPv4 addresses of the host.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9877", value_parser = listen)]
        listen: SocketAddr,
    },
}

impl Command {
    /// Whether it shows the document again and again if the user wants that.
    pub(crate) fn can_be_repeated(&self) -> bool {
        match self {
            Self::Map { svg, .. } | Self::Plan { svg, .. } => svg.is_none(),
            Self::Top { .. }
            | Self::Limits { .. }
            | Self::Env { .. }
            | Self::Doctor { .. }
            | Self::Conf(_) => false,
            other => other.has_json(),
        }
    }

    /// Whether --json has a meaning.
    pub(crate) fn has_json(&self) -> bool {
        match self {
            Self::Partition { command, .. } => command.is_none(),
            Self::Conf(command) => matches!(command, Conf::Show),
            Self::Steer(_)
            | Self::Completions { .. }
            | Self::Man { .. }
            | Self::Migrate { .. }
            | Self::Hostfile(_)
            | Self::Exporter { .. } => false,
            _ => true,
        }
    }
}

fn number(text: &str) -> Result<u64, Words> {
    text.parse().map_err(|_| "write a number of IPUs, for example 16".into())
}

/// An address to listen on. A name may have several addresses: the first of IPv4 is usual.
fn listen(text: &str) -> Result<SocketAddr, Words> {
    let text = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    let found: Vec<_> = text.to_socket_addrs().map_err(Words::of)?.collect();
    let usual = found.iter().find(|address| address.is_ipv4()).or(found.first());
    usual.copied().ok_or("the name has no address".into())
}

fn duration(text: &str) -> Result<Duration, Words> {
    let known = "write minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or \
                 days-hours:minutes:seconds";
    times::read_limit(text).map(Duration::from_secs).ok_or(known.into())
}

/// The options of all commands.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of the commands that show the status document")]
pub(crate) struct Common {
    /// The status document, the directory in which it is, or an exporter: http://HOST:9877/.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) status: Option<PathBuf>,
    /// The admin socket of slurmctld, for the commands of administrators.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Print the part of the document that the command shows, as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Leave out the age and the heads of columns.
    #[arg(long, global = true)]
    pub(crate) noheader: bool,
    /// Show these columns, for example job,user,size (queue, partitions and limits).
    #[arg(short = 'o', long, global = true, value_name = "COLUMNS")]
    pub(crate) format: Option<String>,
    /// Show only the jobs of this user, given by name or number.
    #[arg(short, long, global = true)]
    pub(crate) user: Option<String>,
    /// Show only this Pod model.
    #[arg(short = 'M', long, global = true)]
    pub(crate) model: Option<String>,
    /// Whether the model is that of svipu.toml.
    #[arg(skip)]
    pub(crate) model_is_configured: bool,
    /// Show only my own jobs.
    #[arg(long, global = true, conflicts_with = "user")]
    pub(crate) me: bool,
    /// Show it again each so many seconds, until interrupted.
    #[arg(short, long, global = true, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) interval: Option<u16>,
    /// Show it again every 5 seconds, as `--interval 5` does.
    #[arg(short, long, global = true, conflicts_with = "interval")]
    pub(crate) watch: bool,
    /// Use colours. `auto`, the default, means on a terminal, unless the variable NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<Colours>,
}

impl Common {
    /// The time between two pages, if the user wants several.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.interval.or(self.watch.then_some(5)).map(|seconds| Duration::from_secs(seconds.into()))
    }
}
