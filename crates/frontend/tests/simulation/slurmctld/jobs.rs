//! Slurm's scheduler, the actions of users and administrators, and the launches and ends of jobs.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use frontend::slurm::Question;
use frontend::{Verdict, accounting};
use tokio::time::{Instant, sleep, timeout};
use vipu_types::JobRun;

use super::records::JobChange;
use super::{REMOVE_WAIT, Slurmctld};
use crate::fake_test::FakeTest;
use crate::pool;
use crate::slurm::{Job, Next, State};

/// The time for which a requeued job stays in line. In the real Slurm it is two minutes.
const AFTER_REQUEUE: Duration = Duration::from_secs(10);

impl Slurmctld {
    pub(super) async fn keep_scheduling(self: &Rc<Self>) {
        loop {
            // The scheduler looks at the jobs whether it was kicked or not.
            let _ = timeout(Duration::from_secs(5), self.kicked.notified()).await;
            sleep(Duration::from_millis(1)).await;
            if self.in_charge.get() {
                self.schedule();
            }
        }
    }

    /// Wakes the scheduler, because a job was submitted or may start again.
    pub fn kick(&self) {
        self.kicked.notify_one();
    }

    fn schedule(self: &Rc<Self>) {
        let now = Instant::now();
        let waiting: Vec<u32> = {
            let slurm = self.cluster.slurm.borrow();
            let waits = |job: &&Job| job.state == State::Pending && job.begin <= now;
            slurm.jobs.values().filter(waits).take(self.cluster.schedule.depth).map(|job| job.id).collect()
        };
        for job in waiting {
            if self.passes_the_tests(job) {
                self.begin(job);
            }
        }
    }

    /// Whether the job may start: front end and stock selector have to agree. The stock selector has no nodes
    /// now and then.
    fn passes_the_tests(self: &Rc<Self>, id: u32) -> bool {
        let (start, mut test) = (Question::Start, FakeTest::new(vec![0], 1));
        let Some(mut job) = JobChange::new(&self.cluster, id) else { return false };
        let before = self.ask(|frontend| frontend::before(frontend, &mut job, start, &mut test));
        matches!(before, Verdict::Go | Verdict::Answered)
            && self.cluster.chance(0.9)
            && matches!(
                self.ask(|frontend| frontend::after(frontend, &mut job, start, &mut test)),
                Verdict::Go | Verdict::Answered
            )
    }

    /// Gives a job its nodes.
    fn begin(self: &Rc<Self>, id: u32) {
        let now = self.cluster.seconds();
        self.with_job(id, |job| {
            (job.start, job.has_lost_node) = (now, false);
            job.reason = None;
        });
        let Some(job) = JobChange::new(&self.cluster, id) else { return };
        if !self.ask(|frontend| frontend::job_begin(frontend, job)) {
            self.with_job(id, |job| job.start = 0);
            return;
        }
        if self.cluster.chance(0.01) {
            return self.undo_begin(id);
        }
        if let Some(job) = JobChange::new(&self.cluster, id) {
            self.ask(|frontend| accounting::allocated(frontend, job));
        }
        let is_held = self.with_job(id, |job| {
            job.enter(State::Configuring);
            job.launch_gates > 0
        });
        if is_held == Some(false) {
            self.cluster.counts.borrow_mut().at_once += 1;
            self.launch(id);
        }
    }

    /// Takes the nodes from a job that Slurm cannot start after all. Nothing waits for the end of the job.
    fn undo_begin(self: &Rc<Self>, id: u32) {
        self.with_job(id, |job| job.begin = Instant::now() + Duration::from_secs(2));
        self.tell_end(id);
        self.with_job(id, |job| job.start = 0);
    }

    /// Opens the launch gate of a job once. Its tasks start if the gate is then down.
    pub(super) fn open_launch_gate(self: &Rc<Self>, id: u32) {
        let gates = self.with_job(id, |job| {
            job.launch_gates = job.launch_gates.checked_sub(1)?;
            Some((job.launch_gates, job.state))
        });
        match gates {
            None => {} // It is gone.
            Some(None) => {
                self.cluster.check.breach(format!("a launch gate of job {id} is opened, and is not raised"))
            }
            Some(Some((0, State::Configuring))) => self.launch(id),
            Some(Some(_)) => {}
        }
    }

    /// Opens the launch gate of a job whose script an earlier slurmctld launched.
    pub(super) fn open_launch_gate_of_launched(self: &Rc<Self>, id: u32) {
        let run = self.with_job(id, |job| {
            job.launch_gates = 0;
            job.run()
        });
        let Some(run) = run else { return };
        match self.cluster.unsaved_launch(|launched| launched == run) {
            Some(ends) => self.go_on(id, ends),
            // Slurm sees soon that its time is over.
            None if self.has_ended(run) => {
                self.go_on(id, Instant::now());
                self.end_in_time(run, Instant::now());
            }
            None => self.cluster.check.breach(format!("{run:?} is taken for launched, and does not run")),
        }
    }

    /// Whether the journal has the end of this run.
    fn has_ended(&self, run: JobRun) -> bool {
        self.ended.borrow().contains(&(run.job, run.restart, run.start))
    }

    /// Counts a job as running whose tasks were launched before.
    fn go_on(&self, id: u32, ends: Instant) {
        self.with_job(id, |job| {
            job.ends = ends;
            job.enter(State::Running);
        });
    }

    pub(super) fn launch(self: &Rc<Self>, id: u32) {
        let Some(job) = self.cluster.slurm.borrow().jobs.get(&id).cloned() else { return };
        match self.cluster.unsaved_launch(|run| run.job == id) {
            // srun and salloc have launched their tasks themselves.
            Some(ends) if !job.is_batch => return self.go_on(id, ends),
            Some(_) => {
                let what = format!("{:?} is launched, and an earlier launch still runs", job.run());
                self.cluster.check.breach(what);
            }
            None => {}
        }
        let run = job.run();
        if job.is_batch && self.has_ended(run) {
            self.cluster.check.breach(format!("{run:?} is launched, and the journal has its end"));
        }
        self.cluster.check_launch(&job);
        let ends = Instant::now() + job.length;
        self.with_job(id, |job| {
            job.ends = ends;
            job.enter(State::Running);
        });
        self.cluster.counts.borrow_mut().launched += 1;
        if let Some(grant) = job.grant() {
            self.cluster.processes.begin(&grant.partition, job.run(), ends);
        }
        self.end_in_time(job.run(), ends);
    }

    /// Cancels a job, as its user does.
    pub fn cancel(self: &Rc<Self>, id: u32) {
        let state = self.with_job(id, |job| job.state);
        match state {
            Some(State::Pending | State::Held) => drop(self.cluster.slurm.borrow_mut().jobs.remove(&id)),
            Some(State::Configuring | State::Running) => self.end(id, Next::Over, self.some_time()),
            Some(State::Completing(_)) | None => {}
        }
    }

    /// Cuts off the node of one of the jobs that run on a partition of the pool. Slurm sets it down. The processes of the
    /// job stay for a while.
    pub fn cut_off(self: &Rc<Self>, pick: usize, left: Duration) {
        let on_pool = |job: &&Job| job.state == State::Running && job.model.as_str() == pool::MODEL.0;
        let jobs: Vec<_> = self.cluster.slurm.borrow().jobs.values().filter(on_pool).cloned().collect();
        let Some(job) = jobs.get(pick % jobs.len().max(1)) else { return };
        self.cluster.note(format!("the node of {:?} is cut off", job.run()));
        self.cluster.processes.over(job.run(), Instant::now() + left, true);
        self.end(job.id, if job.is_batch { Next::Pending } else { Next::Over }, Duration::ZERO);
    }

    /// Requeues a job, as a user or an administrator does.
    pub fn requeue(self: &Rc<Self>, id: u32) {
        if self.with_job(id, |job| job.is_batch) == Some(true) {
            self.end(id, Next::Pending, self.some_time());
        }
    }

    /// Requeues a batch job that has nodes or has just ended, as Slurm does. False for any other job.
    pub(super) fn requeue_now(self: &Rc<Self>, id: u32, next: Next) -> bool {
        match self.with_job(id, |job| (job.is_batch, job.state)) {
            Some((true, State::Configuring | State::Running)) => {
                self.end(id, next, self.some_time());
                true
            }
            Some((true, State::Completing(Next::Over))) => {
                self.with_job(id, |job| {
                    job.restart += 1;
                    job.enter(State::Completing(next));
                });
                true
            }
            _ => false,
        }
    }

    /// Lets an administrator release or cancel a held job after some time.
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

    /// Ends the tasks of a run at this time.
    pub(super) fn end_in_time(self: &Rc<Self>, run: JobRun, ends: Instant) {
        self.at(ends, move |this| {
            let fails = this.with_job(run.job, |job| {
                let has_nodes = matches!(job.state, State::Configuring | State::Running);
                (job.run() == run && has_nodes).then(|| {
                    job.exit_code = Some(job.fails().into());
                })
            });
            if fails.flatten().is_some() {
                this.end(run.job, Next::Over, this.some_time());
            }
        });
    }

    /// Ends a job that has nodes, as if its script had ended so.
    pub(super) fn end_with(self: &Rc<Self>, id: u32, status: Option<u32>) {
        self.with_job(id, |job| job.exit_code = status.map(|status| (status >> 8) as u8));
        self.end(id, Next::Over, Duration::ZERO);
    }

    /// The time that the nodes of a job take for its end.
    fn some_time(&self) -> Duration {
        let is_long = self.cluster.chance(0.1);
        self.cluster.up_to(if is_long { 2 * REMOVE_WAIT } else { Duration::from_secs(2) })
    }

    /// Ends a job that has nodes. The nodes are done with it after the time `nodes`, or at once if it was
    /// never launched.
    pub(super) fn end(self: &Rc<Self>, id: u32, next: Next, nodes: Duration) {
        let known = self.frontend.ledger().live_claim(id).map(|claim| claim.run);
        let run = self.with_job(id, |job| {
            let was_launched = match job.state {
                State::Running => true,
                State::Configuring => false,
                _ => return None,
            };
            let run = job.run();
            job.nodes_done = Instant::now() + if was_launched { nodes } else { Duration::ZERO };
            job.restart += u16::from(next != Next::Over);
            job.enter(State::Completing(next));
            Some(run)
        });
        let Some(run) = run.flatten() else { return };
        self.cluster.end_unsaved_launch(run);
        self.with_job(id, |job| match self.cluster.processes.over(run, job.nodes_done, false) {
            Some((_, true)) => job.has_lost_node = true,
            Some((end, false)) => job.nodes_done = job.nodes_done.max(end),
            None => {}
        });
        if known != Some(run) && !self.overtaken.borrow().contains(&run) {
            self.cluster.check.breach(format!("{run:?} ends, and what the ledger has is {known:?}"));
        }
        self.tell_end(id);
        self.complete(run);
    }

    /// Notes the runs whose partition has a later job, according to a journal that is newer than Slurm's saved state.
    pub(super) fn note_overtaken(&self) {
        let has_later = |job: &&Job| {
            let on_record = job.grant().and_then(|grant| self.cluster.disk.on_record(&grant.partition));
            on_record.is_some_and(|later| later.is_of_later_job(&job.run()))
        };
        let slurm = self.cluster.slurm.borrow();
        let overtaken = slurm.jobs.values().filter(has_later).map(Job::run);
        self.overtaken.borrow_mut().extend(overtaken);
    }

    fn tell_end(self: &Rc<Self>, id: u32) {
        let Some(job) = JobChange::new(&self.cluster, id) else { return };
        self.ask(|frontend| frontend::job_fini(frontend, job, &Cell::default()));
    }

    pub(super) fn open_completion_gate(self: &Rc<Self>, id: u32) {
        let opened = self.with_job(id, |job| {
            let is_raised = job.completion_gates > 0;
            job.completion_gates = job.completion_gates.saturating_sub(1);
            (is_raised, job.run())
        });
        match opened {
            None => {} // It is gone.
            Some((true, run)) => self.complete(run),
            Some((false, run)) => {
                let what = format!("the completion gate of {run:?} is opened, and is not raised");
                self.cluster.check.breach(what);
            }
        }
    }

    /// Lets an ending job leave COMPLETING once its nodes are done and its gate is open.
    pub(super) fn complete(self: &Rc<Self>, run: JobRun) {
        let Some(nodes_done) = self.with_job(run.job, |job| job.nodes_done) else { return };
        self.at(nodes_done.max(Instant::now()), move |this| {
            let mut slurm = this.cluster.slurm.borrow_mut();
            let Some(job) = slurm.at(run).filter(|job| job.completion_gates == 0) else { return };
            match job.state {
                State::Completing(Next::Over) => drop(slurm.jobs.remove(&run.job)),
                State::Completing(next) => {
                    (job.start, job.exit_code) = (0, None);
                    if job.begin <= Instant::now() {
                        job.begin = Instant::now() + AFTER_REQUEUE;
                    }
                    job.enter(if next == Next::Held { State::Held } else { State::Pending });
                    drop(slurm);
                    if next == Next::Held {
                        this.admin_looks_at(run.job);
                    }
                }
                _ => {}
            }
        });
    }
}
