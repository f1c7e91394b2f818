//! Values that are one of a few words.

use vipu_types::words;

use crate::value::Value;

/// Makes each list of words an enumeration with `name`, a reader, and the unit of its key.
macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident, $not:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $type {
            /// The words, as the documentation of a key lists them.
            pub(crate) const UNIT: &'static str = choices!(@unit $($word),+);

            /// Its word in the file.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Reads a word, whatever its case.
            pub(crate) fn read(text: &str) -> Value<Self> {
                let mut all = [$(Self::$variant),+].into_iter();
                let found = all.find(|one| one.name().eq_ignore_ascii_case(text));
                found.ok_or_else(|| words!("{} ({})", $not, [$($word),+].join(", ")))
            }
        }
    )+};
    (@unit $last:literal) => { $last };
    (@unit $word:literal, $last:literal) => { concat!($word, " or ", $last) };
    (@unit $word:literal, $($more:literal),+) => { concat!($word, ", ", choices!(@unit $($more),+)) };
}

choices! {
    /// The stock selector under `select_vipu.so`. Its word is that of `SelectType`, too.
    Layer, "not a layer" {
        /// `select/cons_tres`.
        ConsTres = "cons_tres",
        /// `select/linear`.
        Linear = "linear",
    }

    /// The party that chooses the IPUs of a partition.
    Placement, "not a placement" {
        /// The controller.
        Controller = "controller",
        /// The plugin.
        Explicit = "explicit",
    }

    /// The treatment of a job whose partition fails or vanishes while it runs.
    OnPartitionError, "not known" {
        /// The job runs on, because its program may handle the failure.
        Leave = "leave",
        /// A batch job goes back into the queue, any other job ends.
        Requeue = "requeue",
        /// The job ends.
        Kill = "kill",
    }

    /// The jobs for which partitions stay idle.
    KeepIdleFor, "not known" {
        /// Those that wait.
        WaitingJobs = "waiting-jobs",
        /// Also those that are not submitted yet.
        AnyJob = "any-job",
    }

    /// The way in which jobs get their IPUs.
    Mode, "not a mode" {
        /// A partition of its own for each job.
        Partition = "partition",
        /// One of the partitions of a pool, which exist before the job and stay after it.
        Pool = "pool",
        /// A partition of all IPUs of the Pod, made for each job.
        Whole = "whole",
        /// One partition that all jobs share.
        Shared = "shared",
        /// A partition of exactly the IPUs that belong to the job's nodes, made for each job.
        Host = "host",
    }

    /// The jobs before which an idle partition is reset.
    ReuseReset, "not known" {
        /// All.
        Always = "always",
        /// Those of another user than the last one.
        OtherUsers = "other-users",
    }

    /// The way in which Slurm counts the IPUs of jobs.
    Accounting, "not known" {
        /// As a GRES.
        Gres = "gres",
        /// As a licence.
        License = "license",
        /// As both.
        Both = "both",
        /// Not at all.
        Off = "off",
    }

    /// The actions that the audit log has.
    AuditLevel, "not known" {
        /// None.
        No = "no",
        /// The requests of administrators.
        Admin = "admin",
        /// The requests of administrators, and each change on a controller.
        All = "all",
    }

    /// The place of the audit log.
    AuditTo, "not known" {
        /// A file in StateSaveLocation.
        File = "file",
        /// The syslog daemon.
        Syslog = "syslog",
    }

    /// The treatment of a request for a number of IPUs that no partition has.
    SizePolicy, "not known" {
        /// The request is refused.
        Reject = "reject",
        /// The job gets the next larger partition.
        RoundUp = "round-up",
    }

    /// The jobs that get a partition before they have nodes.
    Prepare, "not known" {
        /// None.
        No = "no",
        /// Jobs without a batch script, of srun and salloc.
        Interactive = "interactive",
        /// All.
        All = "all",
    }
}

impl Accounting {
    /// Whether Slurm counts the GRES.
    pub const fn counts_gres(self) -> bool {
        matches!(self, Accounting::Gres | Accounting::Both)
    }

    /// Whether Slurm counts a licence.
    pub const fn counts_license(self) -> bool {
        matches!(self, Accounting::License | Accounting::Both)
    }
}

impl Prepare {
    /// Whether a job with a batch script (`is_batch`), or without one, is among these jobs.
    pub const fn is_for(self, is_batch: bool) -> bool {
        match self {
            Prepare::No => false,
            Prepare::Interactive => !is_batch,
            Prepare::All => true,
        }
    }
}
