//! Who has which IPUs of a Pod, and so when they will be free and what would free them.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use vipu_types::IpuCount;

use crate::free_times::{AfterPreemption, NEVER, Timeline};
use crate::{Jobs, Seconds};

/// The time from the end of a job until its IPUs are free again, as far as a forecast is concerned.
const REMOVAL: Duration = Duration::from_secs(1);

/// Who has IPUs, as far as their release is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpuHolder {
    /// A job that has not ended.
    Job(u32),
    /// A partition that stays until then.
    Kept(Seconds),
    /// A partition on its way out.
    Leaving,
    /// A stranger, or they are broken: nobody knows an end.
    Unknown,
}

/// Who has which IPUs of one Pod.
#[derive(Clone, Debug)]
pub(crate) struct IpuHolders {
    ipus: u32,
    domain_size: IpuCount,
    held: Vec<(Range<usize>, IpuHolder)>,
}

impl IpuHolders {
    /// A Pod of this size, of which these IPUs are held.
    pub(crate) fn new(ipus: u32, domain_size: IpuCount, held: Vec<(Range<usize>, IpuHolder)>) -> Self {
        Self { ipus, domain_size, held }
    }

    /// When all this will be free, as of now.
    pub(crate) fn timeline(&self, jobs: &impl Jobs) -> Timeline {
        let now = jobs.now();
        let until = |holder: &IpuHolder| match holder {
            IpuHolder::Unknown => NEVER,
            IpuHolder::Leaving => now.later_by(REMOVAL),
            IpuHolder::Kept(until) => (*until).max(now).later_by(REMOVAL),
            IpuHolder::Job(job) => jobs.end_of(*job).unwrap_or(now).max(now).later_by(REMOVAL),
        };
        let taken = self.held.iter().map(|(ipus, holder)| (ipus.clone(), until(holder)));
        Timeline::new(self.ipus, self.domain_size, taken)
    }

    /// What would become of each IPU if these jobs went.
    pub(crate) fn after_preemption(&self, of_job: &HashMap<u32, AfterPreemption>) -> Vec<AfterPreemption> {
        let mut after = vec![AfterPreemption::Free; self.ipus as usize];
        for (ipus, holder) in &self.held {
            after[ipus.clone()].fill(match holder {
                IpuHolder::Unknown | IpuHolder::Kept(_) => AfterPreemption::Stays,
                IpuHolder::Leaving => AfterPreemption::Free,
                IpuHolder::Job(job) => of_job.get(job).copied().unwrap_or(AfterPreemption::Stays),
            });
        }
        after
    }
}
