//! Preparations that came to nothing a short while ago.

use std::collections::BTreeMap;

use crate::{Claim, Millis};

/// How long a job is not prepared again whose partition could not be made, or waited in vain, and no job of
/// its user in the latter case: they start the ordinary way meanwhile, and end as any other does whose create
/// fails.
const AFTER_A_FAILURE: u64 = 600_000;

/// Whose partitions came to nothing, and when that was.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedPreparations {
    /// Jobs whose partitions could not be made, or were made in vain.
    jobs: BTreeMap<u32, Millis>,
    /// Users who had one made in vain.
    users: BTreeMap<u32, Millis>,
}

impl FailedPreparations {
    /// The partition of this job could not be made.
    pub(crate) fn add(&mut self, now: Millis, job: u32) {
        note(&mut self.jobs, now, job);
    }

    /// A partition was made for this claim in vain.
    pub(crate) fn add_in_vain(&mut self, now: Millis, claim: &Claim) {
        note(&mut self.jobs, now, claim.run.job);
        note(&mut self.users, now, claim.user);
    }

    /// Whether the job's last preparation failed a short while ago.
    pub(crate) fn is_recent_for_job(&self, now: Millis, job: u32) -> bool {
        is_recent(now, self.jobs.get(&job))
    }

    /// Whether one was made for the user in vain a short while ago.
    pub(crate) fn is_recent_for_user(&self, now: Millis, user: u32) -> bool {
        is_recent(now, self.users.get(&user))
    }
}

fn note(failed: &mut BTreeMap<u32, Millis>, now: Millis, whose: u32) {
    failed.retain(|_, when| is_recent(now, Some(when)));
    failed.insert(whose, now);
}

fn is_recent(now: Millis, failed: Option<&Millis>) -> bool {
    failed.is_some_and(|when| now.0.saturating_sub(when.0) < AFTER_A_FAILURE)
}
