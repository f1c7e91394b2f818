//! Partitions that are made while their jobs still wait (Prepare): what `slurmctld-vipu` does about them.

use std::rc::Rc;
use std::time::Duration;

use driver::{LiveRecord, Stage};
use ledger::{Candidate, Claim, Event, Millis};
use tokio::time::Instant;
use vipu_types::JobRun;

use super::Slurmctld;
use crate::slurm::{Job, Known, State};

/// How long a partition waits for its job's nodes (PrepareWait).
const PREPARE_WAIT: Duration = Duration::from_secs(15);

/// How often it is asked whether the job still waits for it.
const LOOK: Duration = Duration::from_millis(250);

/// How far the partition of a job that waits is.
pub(super) enum Prepared {
    InTheMaking,
    Ready,
}

impl Slurmctld {
    /// What there is for a job. What is not what it wants is given up.
    pub(super) fn prepared(&self, job: &Job) -> Option<Prepared> {
        let found = self.ledger.borrow().preparation(job.id)?;
        if !is_for(&found.claim, job) {
            self.tell(Event::Forgo { job: job.id, in_vain: false });
            return None;
        }
        Some(if found.ready.is_some() { Prepared::Ready } else { Prepared::InTheMaking })
    }

    /// Whether its partition is to be made before it has nodes; some have theirs taken at once.
    pub(super) fn is_to_be_prepared(&self, job: &Job) -> bool {
        let may = self.ledger.borrow().may_prepare(self.now(), job.id);
        self.cluster.schedule.prepares && may && self.cluster.chance(0.8)
    }

    /// Has the partition of a job made that waits.
    pub(super) fn prepare_for(self: &Rc<Self>, job: &Job) {
        if let Some(claim) = self.claim(job) {
            let run = JobRun::waiting(job.id, job.restart, self.cluster.seconds());
            self.prepare(Claim { run, ..claim });
        }
    }

    pub(super) fn prepare(self: &Rc<Self>, claim: Claim) {
        self.tell(Event::Prepare(claim.clone()));
        self.watch(claim);
    }

    /// A job that comes first has what was prepared for others behind it.
    pub(super) fn make_others_yield(self: &Rc<Self>, job: &Job) {
        let victims = {
            let slurm = self.cluster.slurm.borrow();
            let known = Known { slurm: &slurm, now: self.cluster.seconds() };
            let mut ledger = self.ledger.borrow_mut();
            let behind = ledger.preparations().map(|it| it.claim.run.job).filter(|other| *other > job.id);
            let candidates: Vec<_> = behind.map(|job| Candidate { job, dying: false }).collect();
            ledger.victims(&job.wish(), &candidates, &known)
        };
        for job in victims.into_iter().flatten() {
            self.tell(Event::Forgo { job, in_vain: false });
        }
    }

    /// The job of an earlier slurmctld still wants what is being made for it.
    pub(super) fn still_waits_for(&self, record: &LiveRecord) -> bool {
        let is_kept = matches!(record.stage, Stage::Creating | Stage::Created);
        let slurm = self.cluster.slurm.borrow();
        let job = slurm.jobs.get(&record.claim.run.job);
        let waits = job.is_some_and(|job| job.state == State::Pending && is_for(&record.claim, job));
        is_kept && waits && !record.claim.run.has_begun()
    }

    /// A run begins that has its partition already.
    pub(super) fn launch_at_once(self: &Rc<Self>, claim: &Claim, made_for: JobRun) {
        let run = claim.run;
        self.cluster.check_launch(&Claim { run: made_for, ..claim.clone() });
        let ends = self.with_job(run, |job| {
            job.launch.retain(|raised| *raised != run);
            job.ends = Instant::now() + job.length;
            job.enter(State::Running);
            job.ends
        });
        self.cluster.counts.launched.set(self.cluster.counts.launched.get() + 1);
        self.cluster.counts.at_once.set(self.cluster.counts.at_once.get() + 1);
        self.end_in_time(run, ends.unwrap_or_else(Instant::now));
    }

    /// Gives a partition up whose job does not wait for it any more, or not with any luck.
    fn watch(self: &Rc<Self>, claim: Claim) {
        self.at(Instant::now() + LOOK, move |this| {
            let Some(found) = this.ledger.borrow().preparation(claim.run.job) else { return };
            if found.claim.partition != claim.partition {
                return;
            }
            let waits = {
                let slurm = this.cluster.slurm.borrow();
                let job = slurm.jobs.get(&claim.run.job);
                job.is_some_and(|job| job.state == State::Pending && is_for(&claim, job))
            };
            let wait = u64::try_from(PREPARE_WAIT.as_millis()).unwrap();
            let is_late = found.ready.is_some_and(|since| this.now().0 - since.0 >= wait);
            if !waits || is_late {
                return this.tell(Event::Forgo { job: claim.run.job, in_vain: waits });
            }
            this.watch(claim);
        });
    }

    pub(super) fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap())
    }
}

/// Whether a partition is what the job would be given.
fn is_for(claim: &Claim, job: &Job) -> bool {
    let asked = (job.user, &job.model, job.size, job.restart);
    asked == (claim.user, &claim.model, claim.size, claim.run.restart)
}
