//! The options and arguments of single commands.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::civil::DateTime;
use vipu_status::Place;
use vipu_types::Words;

use crate::network_interface::Interface;
use crate::surroundings::Surroundings;
use crate::{names, times};

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Conf {
    /// Check files before slurmctld reads them. Exit status 1: there is an error.
    Check {
        /// Files such as vipu.conf or pod64.conf. Without any: the files of all models in slurm.conf.
        files: Vec<PathBuf>,
    },
    /// Show each key of each model with its value, and whether slurmctld has read it.
    Show,
    /// Write the files of a new site, from what its controllers answer. --model names the model.
    Generate(Generate),
}

/// What the controllers do not tell.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// A V-IPU controller. Give the option once for each controller of the model.
    #[arg(long = "host", value_name = "HOST[:PORT]", required = true)]
    pub(crate) hosts: Vec<String>,
    /// The nodes that reach the Pods, as in NodeName.
    #[arg(long, value_name = "NODES", default_value = "ipu-[001-004]")]
    pub(crate) nodes: String,
    /// The shared directory for the IPUoF files (IpuofDir).
    #[arg(long, value_name = "DIR", default_value = "/shared/ipuof")]
    pub(crate) ipuof_dir: String,
    /// The certificates of the CAs that sign the controllers' certificates (ApiTlsCa).
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<String>,
    /// The file with user id and access key (ApiAccessFile). Its content is used, not printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_file: Option<String>,
    /// Write the files into this directory instead. No file is replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// The runtime for which options are printed, instead of variables for a shell.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Container {
    /// Print options for docker run instead.
    #[arg(long)]
    docker: bool,
    /// Print options for podman run instead.
    #[arg(long)]
    podman: bool,
    /// Print options for apptainer exec and run instead; also for singularity.
    #[arg(long)]
    apptainer: bool,
    /// Print options for ch-run of Charliecloud instead.
    #[arg(long)]
    charliecloud: bool,
}

/// A program that starts containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerRuntime {
    Docker,
    Podman,
    Apptainer,
    Charliecloud,
}

impl Container {
    /// The runtime, if one is given.
    pub(crate) fn runtime(&self) -> Option<ContainerRuntime> {
        let given = [
            (self.docker, ContainerRuntime::Docker),
            (self.podman, ContainerRuntime::Podman),
            (self.apptainer, ContainerRuntime::Apptainer),
            (self.charliecloud, ContainerRuntime::Charliecloud),
        ];
        given.into_iter().find_map(|(is_given, runtime)| is_given.then_some(runtime))
    }
}

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

/// A command that slurmctld carries out.
#[derive(Debug, Subcommand)]
pub(crate) enum Steering {
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
#[derive(Debug, Subcommand)]
pub(crate) enum PartitionCommand {
    /// Remove a partition that is kept for your failed job. Administrators: any that no running job has.
    Free {
        /// The partition's id on its controller.
        id: String,
        /// The reason, for slurmctld's log. Administrators have to give one.
        #[arg(long)]
        reason: Option<String>,
        /// Remove it even if its name is not like those of this cluster (administrators).
        #[arg(long)]
        force: bool,
    },
}

/// IPUs that are drained or resumed.
#[derive(Debug, Args)]
pub(crate) struct Drained {
    /// A model, a partition of a pool, HOST:PORT of a controller, or IPUs: HOST:PORT/DOMAIN:INDEX, 0:8-11.
    #[arg(value_name = "IPUS")]
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
    fn read(text: &str) -> Result<Self, Words> {
        let span = text.strip_prefix("now+").and_then(times::read_limit).map(Self::In);
        let known = "write 2027-01-15, 2027-01-15T12:00:00 or now+2:00:00";
        span.or_else(|| text.parse().ok().map(Self::At)).ok_or(known.into())
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

/// The forms of a place on the command line.
const FORMS: &str = "write DOMAIN:INDEX, DOMAIN.INDEX, or one of them after HOST:PORT/, for example 0:16";

/// The IPUs that the user asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The controller of the Pod. None: each Pod that has the place.
    pub(crate) controller: Option<String>,
    pub(crate) place: Place,
}

impl Wanted {
    /// Reads `DOMAIN:INDEX`, `DOMAIN.INDEX` or one of these after `HOST:PORT/`.
    pub(crate) fn parse(text: &str) -> Result<Self, Words> {
        let (controller, place) = match text.rsplit_once('/') {
            Some(("", _)) => return Err(FORMS.into()),
            Some((controller, place)) => (Some(controller.to_owned()), place),
            None => (None, text),
        };
        let numbers = place.split_once([':', '.']).and_then(|(domain, index)| {
            Some(Place { domain: domain.parse().ok()?, index: index.parse().ok()? })
        });
        let place = numbers.ok_or(FORMS)?;
        Ok(Self { controller, place })
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(controller) = &self.controller {
            write!(f, "{controller}/")?;
        }
        f.write_str(&names::places(&[self.place]))
    }
}
