//! The holders of the IPUs of a Pod. They determine when the IPUs become free and which jobs would free them.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::claim::Serial;
use crate::free_times::{AfterPreemption, NEVER, Timeline};
use crate::{Jobs, Layout, Seconds};

/// The time from the end of a job until its IPUs are free again, in a forecast.
const REMOVAL: Duration = Duration::from_secs(1);

/// The holder of IPUs, as far as their release is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpuHolder {
    /// A job that has not ended.
    Job(u32),
    /// A partition that is kept after a run of this job, until this time if nobody ends it before.
    Kept { job: u32, until: Seconds },
    /// A partition that is being released.
    Leaving,
    /// No job: a partition that stays idle, with the serial of its claim. The IPUs count as free.
    Idle(Serial),
    /// Nobody: a partition of a pool that waits for a job. The IPUs are free.
    Unused,
    /// An administrator, until this time if it is known. A job may have the IPUs as well.
    Drained(Option<Seconds>),
    /// A stranger, or a fault. The end is unknown.
    Unknown,
}

impl IpuHolder {
    /// Whether the IPUs are free, although a partition has them.
    pub(crate) fn is_free(self) -> bool {
        matches!(self, Self::Idle(_) | Self::Unused)
    }

    /// The claim of an idle partition.
    pub(crate) fn idle(self) -> Option<Serial> {
        if let Self::Idle(serial) = self { Some(serial) } else { None }
    }
}

/// The holders of the IPUs of one Pod.
#[derive(Clone, Debug)]
pub(crate) struct IpuHolders {
    ipus: u32,
    layout: Layout,
    held: Vec<(Range<usize>, IpuHolder)>,
}

impl IpuHolders {
    /// A Pod of this size with these IPUs held.
    pub(crate) fn new(ipus: u32, layout: Layout, held: Vec<(Range<usize>, IpuHolder)>) -> Self {
        Self { ipus, layout, held }
    }

    /// The times at which all these IPUs become free, as of now.
    pub(crate) fn timeline(&self, jobs: &impl Jobs) -> Timeline {
        let now = jobs.now();
        let until = |holder: &IpuHolder| match holder {
            IpuHolder::Unknown => NEVER,
            IpuHolder::Idle(_) | IpuHolder::Unused => now,
            IpuHolder::Leaving => now.later_by(REMOVAL),
            IpuHolder::Drained(until) => until.map_or(NEVER, |until| until.max(now).later_by(REMOVAL)),
            IpuHolder::Kept { until, .. } => (*until).max(now).later_by(REMOVAL),
            IpuHolder::Job(job) => jobs.end_of(*job).unwrap_or(now).max(now).later_by(REMOVAL),
        };
        let taken = self.held.iter().map(|(ipus, holder)| (ipus.clone(), until(holder)));
        Timeline::new(self.ipus, &self.layout, taken)
    }

    /// The state of each IPU after the preemption of these jobs.
    pub(crate) fn after_preemption(&self, of_job: &HashMap<u32, AfterPreemption>) -> Vec<AfterPreemption> {
        let mut after = vec![AfterPreemption::Free; self.ipus as usize];
        for (ipus, holder) in &self.held {
            after[ipus.clone()].fill(match holder {
                IpuHolder::Unknown | IpuHolder::Drained(_) => AfterPreemption::Stays,
                IpuHolder::Leaving | IpuHolder::Idle(_) | IpuHolder::Unused => AfterPreemption::Free,
                IpuHolder::Job(job) | IpuHolder::Kept { job, .. } => {
                    of_job.get(job).copied().unwrap_or(AfterPreemption::Stays)
                }
            });
        }
        after
    }
}
