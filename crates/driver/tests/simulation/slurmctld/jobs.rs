//! Slurm's schedulers, what users and administrators do, and the ends of jobs.

use std::rc::Rc;
use std::time::Duration;

use ledger::{Claim, Ending, Event, Preparation, Seconds};
use tokio::time::{Instant, sleep, timeout};
use vipu_types::{ControllerName, JobRun, Shape};

use super::preparing::Prepared;
use super::{REMOVE_WAIT, Slurmctld};
use crate::slurm::{Job, Known, Next, State};

/// How many jobs the scheduler looks at in one pass.
const DEPTH: usize = 12;

impl Slurmctld {
    pub(super) async fn keep_scheduling(self: &Rc<Self>) {
        loop {
            // Kicked or not, it is time for a look.
            let _ = timeout(Duration::from_secs(5), self.kicked.notified()).await;
            sleep(Duration::from_millis(1)).await;
            if self.in_charge.get() {
                self.schedule();
            }
        }
    }

    /// A job was submitted, or may start again.
    pub fn kick(&self) {
        self.kicked.notify_one();
    }

    fn schedule(self: &Rc<Self>) {
        let now = Instant::now();
        let waiting: Vec<Job> = {
            let slurm = self.cluster.slurm.borrow();
            let waits = |job: &&Job| job.state == State::Pending && job.begin <= now;
            slurm.jobs.values().filter(waits).take(DEPTH).cloned().collect()
        };
        for job in waiting {
            match self.prepared(&job) {
                Some(Prepared::Ready) if !self.cluster.chance(0.2) => {
                    self.begin(&job);
                    continue;
                }
                // It is being made, or the job's nodes are busy.
                Some(_) => continue,
                None => {}
            }
            let may_start = {
                let slurm = self.cluster.slurm.borrow();
                let known = Known { slurm: &slurm, now: self.cluster.seconds() };
                self.ledger.borrow_mut().may_start(&job.wish(), &known)
            };
            match may_start {
                Ok(_) if self.is_to_be_prepared(&job) => self.prepare_for(&job),
                Ok(_) => self.begin(&job),
                Err(why) if why.is_for_room() => self.make_others_yield(&job),
                Err(_) => {}
            }
        }
    }

    /// A job gets its nodes.
    fn begin(self: &Rc<Self>, job: &Job) {
        let Some(claim) = self.claim(job) else { return };
        let run = claim.run;
        let made_for = self.ledger.borrow().preparation(job.id).map_or(run, |early| early.claim.run);
        {
            let mut slurm = self.cluster.slurm.borrow_mut();
            let job = slurm.jobs.get_mut(&job.id).expect("it waits");
            job.start = run.start;
            job.given = Some(claim.clone());
            job.made_for = Some(made_for);
            job.launch.push(run);
            job.enter(State::Configuring);
        }
        self.tell(Event::Begin(claim.clone()));
        if self.ledger.borrow().is_launched(job.id) {
            self.launch_at_once(&claim, made_for);
        } else {
            self.with_job(run, |job| job.made_for = Some(run));
        }
        if self.cluster.chance(0.01) {
            self.undo_begin(run);
        }
    }

    /// What a job is given that starts now.
    pub(super) fn claim(&self, job: &Job) -> Option<Claim> {
        let slurm = self.cluster.slurm.borrow();
        let (mut ledger, known) =
            (self.ledger.borrow_mut(), Known { slurm: &slurm, now: self.cluster.seconds() });
        let run = JobRun { job: job.id, restart: job.restart, start: self.cluster.seconds() };
        if let Some(Preparation { claim, ready: Some(_) }) = ledger.preparation(job.id) {
            return Some(Claim { run, ..claim });
        }
        let wish = job.wish();
        let undisturbing = ledger.why_not_now(&wish, &known).ok();
        let controller: ControllerName =
            undisturbing.or_else(|| ledger.fits_now(&job.model, job.size).ok())?;
        let ipus = ledger.place(&wish, &controller, &known);
        let partition = ledger.new_id(self.now(), &job.model, job.id, job.restart)?;
        let (user, model, size) = (job.user, job.model.clone(), job.size);
        let (shape, slurm_partition) = (Shape::default(), None);
        Some(Claim { partition, run, user, model, controller, size, shape, slurm_partition, ipus })
    }

    /// Slurm cannot start a job that has its nodes after all: nothing waits for its end.
    fn undo_begin(&self, run: JobRun) {
        self.with_job(run, |job| {
            job.begin = Instant::now() + Duration::from_secs(2);
            job.enter(State::Pending);
        });
        self.tell(Event::Fini { job: run.job, ending: Ending::Unheld });
    }

    /// A job's user has had enough.
    pub fn cancel(self: &Rc<Self>, id: u32) {
        let state = self.cluster.slurm.borrow().jobs.get(&id).map(|job| job.state);
        match state {
            Some(State::Pending | State::Held) => drop(self.cluster.slurm.borrow_mut().jobs.remove(&id)),
            Some(State::Configuring | State::Running) => self.end(id, Next::Over),
            Some(State::Completing(_)) | None => {}
        }
    }

    /// Somebody has a job begin anew.
    pub fn requeue(self: &Rc<Self>, id: u32) {
        let is_batch = self.cluster.slurm.borrow().jobs.get(&id).is_some_and(|job| job.is_batch);
        if is_batch {
            self.end(id, Next::Pending);
        }
    }

    /// Somebody looks at a held job, in time.
    pub(super) fn admin_looks_at(self: &Rc<Self>, id: u32) {
        let time = Instant::now() + self.cluster.up_to(Duration::from_secs(30));
        self.at(time, move |this| {
            let is_released = this.cluster.chance(0.7);
            let mut slurm = this.cluster.slurm.borrow_mut();
            match slurm.jobs.get_mut(&id) {
                Some(job) if job.state == State::Held && is_released => job.enter(State::Pending),
                Some(job) if job.state == State::Held => drop(slurm.jobs.remove(&id)),
                _ => {}
            }
        });
    }

    /// Has the tasks of a run end by themselves.
    pub(super) fn end_in_time(self: &Rc<Self>, run: JobRun, ends: Instant) {
        self.at(ends, move |this| {
            let runs = this.with_job(run, |job| job.state == State::Running);
            if runs == Some(true) {
                this.end(run.job, Next::Over);
            }
        });
    }

    /// A job that has nodes ends.
    pub(super) fn end(self: &Rc<Self>, id: u32, next: Next) {
        let done = self.cluster.up_to(if self.cluster.chance(0.1) {
            2 * REMOVE_WAIT
        } else {
            Duration::from_secs(2)
        });
        let known = self.ledger.borrow().live_claim(id).map(|claim| claim.run);
        let now = self.cluster.seconds();
        let (run, keep_until) = {
            let mut slurm = self.cluster.slurm.borrow_mut();
            let Some(job) = slurm.jobs.get_mut(&id) else { return };
            let was_launched = match job.state {
                State::Running => true,
                State::Configuring => false,
                _ => return,
            };
            let run = job.run();
            job.nodes_done = Instant::now() + if was_launched { done } else { Duration::ZERO };
            job.restart += u16::from(next != Next::Over);
            job.enter(State::Completing(next));
            job.completion.push(run);
            let fails = was_launched && next == Next::Over;
            job.keep_until = job.keep().filter(|_| fails).map(|keep| now + keep);
            (run, job.keep_until)
        };
        if known != Some(run) {
            self.cluster.check.breach(format!("{run:?} ends, and what the ledger has is {known:?}"));
        }
        let claim = self.ledger.borrow().live_claim(id).cloned();
        claim.into_iter().for_each(|claim| self.limit_completion(claim));
        self.tell(ended(id, keep_until));
    }

    /// Slurm waits for the end of this run, though not for ever.
    pub(super) fn limit_completion(self: &Rc<Self>, claim: Claim) {
        self.at(Instant::now() + REMOVE_WAIT, move |this| {
            let is_there = this.ledger.borrow().completion_raised(&claim);
            if is_there {
                this.tell(Event::Overdue(claim.partition));
            }
        });
    }

    /// Slurm waits for nothing but a job's nodes any more.
    pub(super) fn complete(self: &Rc<Self>, run: JobRun) {
        let Some(nodes_done) = self.with_job(run, |job| job.nodes_done) else { return };
        self.at(nodes_done.max(Instant::now()), move |this| {
            let mut slurm = this.cluster.slurm.borrow_mut();
            let Some(job) = slurm.at(run).filter(|job| job.completion.is_empty()) else { return };
            match job.state {
                State::Completing(Next::Over) => drop(slurm.jobs.remove(&run.job)),
                State::Completing(Next::Pending) => job.enter(State::Pending),
                State::Completing(Next::Held) => {
                    job.enter(State::Held);
                    drop(slurm);
                    this.admin_looks_at(run.job);
                }
                _ => {}
            }
        });
    }
}

/// What the ledger is told of a job that waits for its partition to go, or to stay.
pub(super) fn ended(job: u32, keep_until: Option<i64>) -> Event {
    let ending = Ending::Held;
    match keep_until.map(Seconds) {
        Some(keep_until) => Event::Failed { job, ending, keep_until },
        None => Event::Fini { job, ending },
    }
}
