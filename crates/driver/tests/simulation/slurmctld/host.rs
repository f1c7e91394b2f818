//! What the vipu-host thread does: the ledger's actions that are Slurm's to carry out.

use std::rc::Rc;
use std::time::Duration;

use driver::Host;
use ledger::{Action, Claim, Event, Seconds};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};
use vipu_types::JobRun;

use super::{REMOVE_WAIT, Slurmctld};
use crate::disk::NO_SPACE;
use crate::slurm::{Next, State};

impl Slurmctld {
    pub(super) async fn be_host(self: &Rc<Self>, mut actions: UnboundedReceiver<Action>) {
        while let Some(action) = actions.recv().await {
            if self.cluster.chance(0.2) {
                sleep(self.cluster.up_to(Duration::from_millis(50))).await;
            }
            if self.in_charge.get() {
                self.act(action);
            }
        }
    }

    fn act(self: &Rc<Self>, action: Action) {
        match action {
            Action::OpenLaunch(claim) => self.open_launch(&claim),
            Action::FailRun(claim, why) | Action::SendBack(claim, why) if why.contains(NO_SPACE) => {
                let what = format!("{:?} pays for what all share: {why}", claim.run);
                self.cluster.check.breach(what);
            }
            Action::FailRun(claim, _) => self.fail_run(&claim, Next::Held),
            Action::SendBack(claim, _) => self.fail_run(&claim, Next::Pending),
            Action::Broken(claim, _) => self.broken(&claim),
            Action::Relocated(_) => {}
            Action::DropLaunch(claim) => self.lower_launch(claim.run),
            Action::Keep(claim, until) => self.end_keep(claim, until),
            Action::AwaitNodes(claim) => self.await_nodes(&claim),
            Action::OpenCompletion { claim, launch_raised } => self.open_completion(claim.run, launch_raised),
            Action::KickScheduler => self.kick(),
            other => self.cluster.check.breach(format!("not the host's: {other:?}")),
        }
    }

    fn is_starting(&self, run: JobRun) -> bool {
        self.with_job(run, |job| job.state == State::Configuring).unwrap_or(false)
    }

    fn open_launch(self: &Rc<Self>, claim: &Claim) {
        let run = claim.run;
        let starts = self.is_starting(run);
        self.lower_launch(run);
        if !starts {
            return self.tell(Event::RunVanished(claim.partition.clone()));
        }
        self.cluster.check_launch(claim);
        let ends = self.with_job(run, |job| {
            job.ends = Instant::now() + job.length;
            job.enter(State::Running);
            job.ends
        });
        self.cluster.counts.launched.set(self.cluster.counts.launched.get() + 1);
        self.end_in_time(run, ends.unwrap_or_else(Instant::now));
        self.tell(Event::Launched(claim.partition.clone()));
    }

    fn fail_run(self: &Rc<Self>, claim: &Claim, next: Next) {
        if !self.is_starting(claim.run) {
            return self.tell(Event::RunVanished(claim.partition.clone()));
        }
        self.cluster.counts.failed.set(self.cluster.counts.failed.get() + 1);
        let is_batch = self.with_job(claim.run, |job| job.is_batch).unwrap_or(false);
        self.end(claim.run.job, if is_batch { next } else { Next::Over });
    }

    /// The partition of a running job fails: the job is ended where the site wants that (OnPartitionError).
    fn broken(self: &Rc<Self>, claim: &Claim) {
        let next = self.cluster.config.borrow().on_partition_error;
        let is_batch = self.with_job(claim.run, |job| (job.state == State::Running).then_some(job.is_batch));
        match (next, is_batch.flatten()) {
            (Some(next), Some(true)) => self.end(claim.run.job, next),
            (Some(_), Some(false)) => self.end(claim.run.job, Next::Over),
            (None, _) | (_, None) => {}
        }
    }

    /// Lowers the launch gate that was raised for a run; its job may be gone.
    fn lower_launch(&self, run: JobRun) {
        let mut slurm = self.cluster.slurm.borrow_mut();
        let Some(job) = slurm.jobs.get_mut(&run.job) else { return };
        match job.launch.iter().position(|raised| *raised == run) {
            Some(gate) => drop(job.launch.remove(gate)),
            None => {
                self.cluster.check.breach(format!("the launch gate of {run:?} is opened, and is not raised"))
            }
        }
    }

    fn open_completion(self: &Rc<Self>, run: JobRun, launch_raised: bool) {
        if launch_raised {
            self.lower_launch(run);
        }
        {
            let mut slurm = self.cluster.slurm.borrow_mut();
            let Some(job) = slurm.jobs.get_mut(&run.job) else { return };
            let wait = Duration::from_secs(if launch_raised { 2 } else { 10 });
            job.begin = Instant::now() + wait;
            match job.completion.iter().position(|raised| *raised == run) {
                Some(gate) => drop(job.completion.remove(gate)),
                None => {
                    let what = format!("the completion gate of {run:?} is opened, and is not raised");
                    self.cluster.check.breach(what);
                }
            }
        }
        self.complete(run);
    }

    /// Has a partition go that stays until then.
    fn end_keep(self: &Rc<Self>, claim: Claim, until: Seconds) {
        let left = u64::try_from(until.0 - self.cluster.seconds()).unwrap_or(0);
        self.at(Instant::now() + Duration::from_secs(left), move |this| {
            let is_kept = this.ledger.borrow().is_kept(&claim);
            if is_kept {
                this.cluster.counts.kept.set(this.cluster.counts.kept.get() + 1);
                this.tell(Event::KeepOver(claim.partition));
            }
        });
    }

    fn await_nodes(self: &Rc<Self>, claim: &Claim) {
        let latest = Instant::now() + REMOVE_WAIT;
        let done = self.with_job(claim.run, |job| job.nodes_done).unwrap_or_else(Instant::now);
        let partition = claim.partition.clone();
        self.at(done.min(latest), move |this| this.tell(Event::NodesDone(partition)));
    }
}

impl Host for Slurmctld {
    fn send(&self, action: Action) {
        // It ends together with the one who listens.
        let _ = self.host.send(action);
    }
}
