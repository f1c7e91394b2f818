//! Who has which IPUs of a Pod, and so when they will be free and what would free them.

use std::collections::HashMap;
use std::ops::Range;

use vipu_types::IpuCount;

use crate::Phase;
use crate::claims::Record;
use crate::outlook::{Fate, NEVER, Timeline};
use crate::plan::{Jobs, Seconds};
use crate::pod::{Occupant, Pod};

/// Seconds from the end of a job until its IPUs are free again, as far as a forecast is concerned.
const REMOVAL: i64 = 1;

/// Who has IPUs, as far as their release is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// A job that has not ended.
    Job(u32),
    /// A partition that stays until then.
    Kept(Seconds),
    /// A partition on its way out.
    Leaving,
    /// A stranger, or they are broken: nobody knows an end.
    Unknown,
}

impl Tenant {
    /// Who has the IPUs of a claim.
    pub(crate) fn of(record: &Record) -> Self {
        match record.phase {
            Phase::Keeping { until, .. } | Phase::Kept { until } => Self::Kept(until),
            Phase::Releasing { .. } => Self::Leaving,
            _ => Self::Job(record.claim.run.job),
        }
    }
}

/// Who has which IPUs of one Pod.
#[derive(Clone, Debug)]
pub(crate) struct Tenancy {
    ipus: u32,
    domain_size: IpuCount,
    held: Vec<(Range<usize>, Tenant)>,
}

impl Tenancy {
    /// As of now.
    pub(crate) fn of(pod: &Pod) -> Self {
        let mut held = Vec::new();
        let tenant = |who: Occupant| match who {
            Occupant::Partition(tenant) | Occupant::Claim(_, tenant) => tenant,
            Occupant::Nobody => Tenant::Unknown,
        };
        pod.occupied(|who| Some(tenant(who)), |tenant, ipus| held.push((ipus, tenant)));
        Self { ipus: pod.hardware().ipus, domain_size: pod.domain_size(), held }
    }

    /// When all this will be free, as of now.
    pub(crate) fn timeline(&self, jobs: &impl Jobs) -> Timeline {
        let now = jobs.now();
        let until = |tenant: &Tenant| match tenant {
            Tenant::Unknown => NEVER,
            Tenant::Leaving => now.0 + REMOVAL,
            Tenant::Kept(until) => (*until).max(now).0.saturating_add(REMOVAL),
            Tenant::Job(job) => jobs.end_of(*job).unwrap_or(now).max(now).0.saturating_add(REMOVAL),
        };
        let taken = self.held.iter().map(|(ipus, tenant)| (ipus.clone(), until(tenant)));
        Timeline::new(self.ipus, self.domain_size, taken)
    }

    /// What would become of each IPU if these jobs went.
    pub(crate) fn fates(&self, of_job: &HashMap<u32, Fate>) -> Vec<Fate> {
        let mut fates = vec![Fate::Free; self.ipus as usize];
        for (ipus, tenant) in &self.held {
            fates[ipus.clone()].fill(match tenant {
                Tenant::Unknown | Tenant::Kept(_) => Fate::Stays,
                Tenant::Leaving => Fate::Free,
                Tenant::Job(job) => of_job.get(job).copied().unwrap_or(Fate::Stays),
            });
        }
        fates
    }
}
