//! The clocks of a simulated slurmctld, and the queues out of its front end.

use std::sync::mpsc::Sender;

use frontend::{HostTask, Outside};
use ledger::{Action, Claim, EndedRun, Millis, Seconds};
use tokio::time::Instant;

/// A message from the front end.
pub enum Outgoing {
    /// The actions that follow from one event.
    Actions(Vec<Action>),
    Launched(Claim, Seconds),
    Ended(Claim, EndedRun),
    Host(HostTask),
}

/// The clocks and queues of one slurmctld.
pub struct Threads {
    pub began: Instant,
    /// The time on Slurm's clock when the slurmctld began.
    pub unix_time: i64,
    pub outgoing: Sender<Outgoing>,
}

impl Threads {
    fn send(&self, outgoing: Outgoing) {
        // The receiver ends together with this one.
        let _ = self.outgoing.send(outgoing);
    }
}

impl Outside for Threads {
    fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap())
    }

    fn unix_time(&self) -> Seconds {
        Seconds(self.unix_time + i64::try_from(self.began.elapsed().as_secs()).unwrap())
    }

    fn local_time(&self, at: Seconds) -> String {
        format!("@{}", at.0)
    }

    fn carry_out(&self, actions: Vec<Action>) {
        self.send(Outgoing::Actions(actions));
    }

    fn note_launched(&self, claim: Claim, at: Seconds) {
        self.send(Outgoing::Launched(claim, at));
    }

    fn note_ended(&self, claim: Claim, ended: EndedRun) {
        self.send(Outgoing::Ended(claim, ended));
    }

    fn ask_host(&self, task: HostTask) {
        self.send(Outgoing::Host(task));
    }

    fn is_switched_off(&self) -> bool {
        false
    }
}
