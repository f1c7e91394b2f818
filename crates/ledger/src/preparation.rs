//! Partitions for jobs that still wait in line.

use vipu_types::{ModelName, PartitionId};

use crate::claim_record::Record;
use crate::lifecycle::Signal;
use crate::{Action, Claim, DriverAction, Ending, HostAction, Launch, Ledger, Making, Millis, Phase};

/// A partition for a waiting job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// The claim, for [`vipu_types::JobRun::waiting`].
    pub claim: Claim,
    /// The time at which the partition came up. None while it is being made.
    pub ready: Option<Millis>,
}

impl Preparation {
    fn of(record: &Record) -> Option<Self> {
        let ready = (record.phase == Phase::Prepared).then_some(record.since);
        record.phase.is_early().then(|| Self { claim: record.claim.clone(), ready })
    }
}

impl Ledger {
    /// The partition that is prepared, or being prepared, for this job.
    pub fn preparation(&self, job: u32) -> Option<Preparation> {
        self.claims.live(job).and_then(|(_, record)| Preparation::of(record))
    }

    /// All partitions that are prepared or being prepared, the oldest first.
    pub fn preparations(&self) -> impl Iterator<Item = Preparation> {
        self.claims.early().filter_map(|(_, record)| Preparation::of(record))
    }

    /// Whether a partition is prepared, or being prepared, for any job.
    pub fn is_any_prepared(&self) -> bool {
        self.claims.early().next().is_some()
    }

    /// Whether a partition may be prepared for a job. It may not if a preparation failed a short while ago.
    pub fn may_prepare(&self, now: Millis, job: u32) -> bool {
        self.claims.live(job).is_none() && !self.failed_preparations.is_recent_for_job(now, job)
    }

    /// Whether a partition may be prepared for a further job of a user: the user has fewer than `most` of the
    /// model, and none was made in vain a short while ago. Prepared partitions are not charged to any user.
    pub fn may_prepare_for(&self, now: Millis, user: u32, model: &ModelName, most: u32) -> bool {
        let early = self.claims.counts().early_of(model, user);
        early < u64::from(most) && !self.failed_preparations.is_recent_for_user(now, user)
    }

    /// Prepares a partition for a waiting job, one at a time.
    pub(crate) fn prepare(&mut self, now: Millis, claim: Claim, todo: &mut Vec<Action>) {
        let is_free = |it: &Record| it.phase.is_idle() || it.is_left_by(claim.run.job, claim.user);
        let is_taken = self.claims.holder(&claim.partition).is_some_and(|(_, it)| !is_free(it));
        if self.claims.live(claim.run.job).is_some() || is_taken {
            return;
        }
        self.line.drop_of(claim.run.job);
        self.end_keeps(now, &claim, todo);
        self.ask_for(now, claim, Phase::Preparing(Making::Claimed), todo);
    }

    /// Gives up the prepared partition of a job.
    pub(crate) fn forgo(&mut self, now: Millis, job: u32, in_vain: bool, todo: &mut Vec<Action>) {
        if let Some((serial, record)) = self.claims.live(job)
            && record.phase.is_early()
        {
            if in_vain {
                self.failed_preparations.add_in_vain(now, &record.claim);
            }
            self.signal(now, serial, Signal::Ended(Ending::Unheld), todo);
        }
    }

    /// Gives a run that begins its prepared partition. Returns whether there is one that serves it.
    pub(crate) fn bind(
        &mut self,
        now: Millis,
        claim: &Claim,
        launch: Launch,
        todo: &mut Vec<Action>,
    ) -> bool {
        let Some((serial, record)) = self.claims.live(claim.run.job) else { return false };
        if record.phase != Phase::Prepared || !record.claim.is_as_good_as(claim) {
            return false;
        }
        self.claims.bind(serial, claim.run, claim.slurm_partition.clone());
        todo.push(Action::Driver(DriverAction::Bind(claim.clone())));
        match launch {
            Launch::AtOnce => self.enter(now, serial, Phase::Running),
            Launch::ByGate => {
                self.enter(now, serial, Phase::Ready);
                todo.push(Action::Host(HostAction::OpenLaunch(claim.clone())));
            }
        }
        true
    }

    /// Notes the failure of a create for which its job may not be to blame.
    pub(crate) fn note_failure(&mut self, now: Millis, partition: &PartitionId) {
        if let Some((_, record)) = self.claims.holder(partition)
            && record.phase.is_early()
        {
            self.failed_preparations.add(now, record.claim.run.job);
        }
    }
}
