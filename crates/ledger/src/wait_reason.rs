//! The reasons why a job cannot have its partition now.

use vipu_types::{IpuCount, ModelName, Reason, Words};

/// The reason why a job cannot have its partition now.
///
/// Each reason can pass: the configuration is mended, a controller comes back, a Pod grows. None is a reason
/// to refuse a job for good. A count that no partition can have, because it is no power of two, cannot occur
/// here: [`IpuCount`] does not hold it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wait {
    /// No model of this name is configured.
    #[error("vipu: no model {asked} ({})", all_models(known))]
    NoModel {
        /// The requested model.
        asked: ModelName,
        /// The configured models.
        known: Vec<ModelName>,
    },
    /// No job can start on this model for now, whatever its size.
    #[error("vipu: {model}: {trouble}")]
    Trouble {
        /// The model.
        model: ModelName,
        /// [`crate::ModelFacts::trouble`].
        trouble: Words,
    },
    /// The size exceeds the limit of one job.
    #[error("vipu: {size} {} wanted, a job on {model} gets at most {largest}", ipus(*size))]
    OverLimit {
        /// The model.
        model: ModelName,
        /// The size of the requested partition.
        size: IpuCount,
        /// [`crate::ModelFacts::largest`].
        largest: u32,
    },
    /// No controller was asked yet, or none has answered.
    #[error("vipu: no answer from the controller of {model} yet")]
    NoAnswer {
        /// The model.
        model: ModelName,
    },
    /// No controller answered the last question.
    #[error("vipu: {model}: {reason}")]
    Unreachable {
        /// The model.
        model: ModelName,
        /// The reason given in [`crate::Event::Unreachable`].
        reason: Words,
    },
    /// An administrator drained all controllers that answer.
    #[error("vipu: {model} is drained: {reason}")]
    Drained {
        /// The model.
        model: ModelName,
        /// [`crate::Drain::reason`].
        reason: String,
    },
    /// No controller that answers has a free block that is large enough.
    #[error("vipu: {size} {} of {model} needed, {free} free, largest block {largest}{}{}{}", ipus(*size), more(*kept, "kept of failed jobs"), more((*drained).into(), "drained"), no_answer_of(*silent))]
    Full {
        /// The model.
        model: ModelName,
        /// The size of the requested partition.
        size: IpuCount,
        /// Free IPUs on all controllers together.
        free: u32,
        /// The size of the largest partition that fits. It is smaller than `free` on a fragmented Pod.
        largest: u32,
        /// IPUs in partitions of failed jobs.
        kept: u64,
        /// IPUs that an administrator drained, free or not.
        drained: u32,
        /// The number of controllers that do not answer.
        silent: usize,
    },
    /// No partition of the pool that serves the size is free.
    #[error("vipu: {size} {} of {model} needed, {}", ipus(*size), of_pool(sizes, *there_is))]
    PoolFull {
        /// The model.
        model: ModelName,
        /// The number of IPUs that the job asked for.
        size: IpuCount,
        /// The sizes of all partitions of the pool.
        sizes: Vec<IpuCount>,
        /// Whether one of them serves the size.
        there_is: bool,
    },
    /// The size exceeds the limit of all jobs of the Slurm partition together.
    #[error("vipu: {size} {} wanted, jobs of Slurm partition {slurm_partition} get at most {limit} of {model}", ipus(*size))]
    OverWholeShare {
        /// The model.
        model: ModelName,
        /// The Slurm partition.
        slurm_partition: String,
        /// The size of the requested partition.
        size: IpuCount,
        /// The limit in IPUs.
        limit: u32,
    },
    /// With this job, the jobs of the Slurm partition would exceed their limit of IPUs.
    #[error("vipu: jobs of Slurm partition {slurm_partition} have {used} of at most {limit} IPUs of {model}")]
    OverShare {
        /// The model.
        model: ModelName,
        /// The Slurm partition.
        slurm_partition: String,
        /// The IPUs of its jobs.
        used: u64,
        /// The limit in IPUs.
        limit: u32,
    },
    /// The job would run into a time in which only the largest jobs run.
    #[error("vipu: the job would run into a time in which {model} is for the largest jobs: {time}")]
    WholeTime {
        /// The model.
        model: ModelName,
        /// The time, as the administrator wrote it.
        time: String,
    },
    /// A block is free, but a job before this one in line would have to wait longer.
    #[error("vipu: IPUs of {model} are kept for job {job}")]
    Planned {
        /// The model.
        model: ModelName,
        /// The job before this one.
        job: u32,
    },
    /// There are IPUs for this component of a heterogeneous job, but not for all its components together.
    #[error("vipu: the components of this job need {ipus} IPUs of {model} together")]
    Together {
        /// The model.
        model: ModelName,
        /// The IPUs of all components that wait for this model.
        ipus: u32,
    },
}

impl Wait {
    /// Whether the job waits for IPUs, or for the end of a time in which only larger jobs get them.
    pub fn is_for_ipus(&self) -> bool {
        self.is_for_room() || matches!(self, Wait::WholeTime { .. } | Wait::Together { .. })
    }

    /// Whether the job waits for IPUs, which become free as other jobs end or administrators resume them.
    pub fn is_for_room(&self) -> bool {
        matches!(
            self,
            Wait::Full { .. } | Wait::PoolFull { .. } | Wait::Drained { .. } | Wait::Planned { .. }
        )
    }
}

impl From<Wait> for Reason {
    fn from(wait: Wait) -> Self {
        let brief = match &wait {
            Wait::NoModel { asked, .. } => format!("vipu: there is no model {asked}"),
            Wait::Trouble { model, .. } => format!("vipu: {model} is in trouble"),
            Wait::OverLimit { model, size, .. } => {
                format!("vipu: {size} {} are too many for a job on {model}", ipus(*size))
            }
            Wait::NoAnswer { model } | Wait::Unreachable { model, .. } => {
                format!("vipu: no answer from the controller of {model}")
            }
            Wait::Drained { model, .. } => format!("vipu: {model} is drained"),
            Wait::Full { model, size, .. } | Wait::PoolFull { model, size, .. } => {
                format!("vipu: {size} {} of {model} needed", ipus(*size))
            }
            Wait::OverWholeShare { model, size, .. } => {
                format!("vipu: {size} {} of {model} are too many for its Slurm partition", ipus(*size))
            }
            Wait::OverShare { model, .. } => format!("vipu: its Slurm partition has all its IPUs of {model}"),
            Wait::WholeTime { model, .. } => format!("vipu: {model} is for the largest jobs soon"),
            Wait::Planned { model, .. } => format!("vipu: IPUs of {model} are kept for another job"),
            Wait::Together { model, .. } => format!("vipu: its components need IPUs of {model} together"),
        };
        Self::new(brief, wait.to_string())
    }
}

fn ipus(size: IpuCount) -> &'static str {
    if size == IpuCount::ONE { "IPU" } else { "IPUs" }
}

/// Text about the partitions of a pool.
fn of_pool(sizes: &[IpuCount], there_is: bool) -> String {
    match sizes {
        _ if there_is => "no such partition of the pool is free".into(),
        [] => "the pool has partitions of no size".into(),
        sizes => format!("the pool has partitions of {}", listed(sizes)),
    }
}

/// Text about the configured models.
fn all_models(known: &[ModelName]) -> String {
    if known.is_empty() { "none is configured".into() } else { format!("models: {}", listed(known)) }
}

fn listed(all: &[impl ToString]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Text about IPUs that are not free for a reason of their own.
fn more(ipus: u64, what: &str) -> String {
    if ipus == 0 { String::new() } else { format!("; {ipus} {what}") }
}

/// Text about controllers that do not answer.
fn no_answer_of(controllers: usize) -> String {
    match controllers {
        0 => String::new(),
        1 => "; 1 controller does not answer".into(),
        n => format!("; {n} controllers do not answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_names_its_cause() {
        let model = || ModelName::new("pod64").unwrap();
        let size = |n| IpuCount::new(n).unwrap();
        let known = vec![ModelName::new("pod16").unwrap(), model()];
        let asked = ModelName::new("pod99").unwrap();
        let full = |ipus, [free, largest, drained]: [u32; 3], kept, silent| Wait::Full {
            model: model(),
            size: size(ipus),
            free,
            largest,
            kept,
            drained,
            silent,
        };
        for (wait, text) in [
            (full(16, [8, 8, 0], 0, 0), "vipu: 16 IPUs of pod64 needed, 8 free, largest block 8"),
            (
                full(1, [0, 0, 0], 0, 1),
                "vipu: 1 IPU of pod64 needed, 0 free, largest block 0; 1 controller does not answer",
            ),
            (
                full(32, [32, 16, 8], 16, 2),
                "vipu: 32 IPUs of pod64 needed, 32 free, largest block 16; 16 kept of failed jobs; 8 drained; 2 controllers do not answer",
            ),
            (
                Wait::Unreachable { model: model(), reason: "connection refused".into() },
                "vipu: pod64: connection refused",
            ),
            (
                Wait::Drained { model: model(), reason: "new switch".into() },
                "vipu: pod64 is drained: new switch",
            ),
            (Wait::NoAnswer { model: model() }, "vipu: no answer from the controller of pod64 yet"),
            (
                Wait::Trouble { model: model(), trouble: "vipu.conf:3: no ApiHost".into() },
                "vipu: pod64: vipu.conf:3: no ApiHost",
            ),
            (Wait::NoModel { asked: asked.clone(), known }, "vipu: no model pod99 (models: pod16, pod64)"),
            (Wait::NoModel { asked, known: vec![] }, "vipu: no model pod99 (none is configured)"),
            (
                Wait::OverLimit { model: model(), size: size(128), largest: 64 },
                "vipu: 128 IPUs wanted, a job on pod64 gets at most 64",
            ),
        ] {
            assert_eq!(wait.to_string(), text);
        }
    }
}
