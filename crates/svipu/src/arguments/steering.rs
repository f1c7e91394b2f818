//! The command lines of administrators.

use clap::{Args, Subcommand};
use jiff::civil::DateTime;

use crate::surroundings::Surroundings;
use crate::times;

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
    /// A model, a partition of a pool, a controller as HOST:PORT, or an IPU as HOST:PORT/DOMAIN:INDEX.
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
