//! Preparations that failed a short while ago.

use std::collections::BTreeMap;

use crate::{Claim, Millis};

/// The time in milliseconds after a failed preparation for which a job is not prepared again. After a preparation in
/// vain, this holds for all jobs of its user. These jobs start the ordinary way meanwhile, and end like
/// others if their create fails.
const AFTER_A_FAILURE: u64 = 600_000;

/// The jobs and users with failed preparations, and the times of the failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedPreparations {
    /// Jobs whose partition could not be made, or was made in vain.
    jobs: BTreeMap<u32, Millis>,
    /// Users with a partition that was made in vain.
    users: BTreeMap<u32, Millis>,
}

impl FailedPreparations {
    /// Notes that the partition of this job could not be made.
    pub(crate) fn add(&mut self, now: Millis, job: u32) {
        note(&mut self.jobs, now, job);
    }

    /// Notes that a partition was made for this claim in vain.
    pub(crate) fn add_in_vain(&mut self, now: Millis, claim: &Claim) {
        note(&mut self.jobs, now, claim.run.job);
        note(&mut self.users, now, claim.user);
    }

    /// Whether the job's last preparation failed a short while ago.
    pub(crate) fn is_recent_for_job(&self, now: Millis, job: u32) -> bool {
        is_recent(now, self.jobs.get(&job))
    }

    /// Whether a partition was made for the user in vain a short while ago.
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
