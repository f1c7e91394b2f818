//! A job that waits in Slurm's queue.

use ledger::{Claim, Ledger};

use crate::models::Models;
use crate::request::{Request, Resolved};
use crate::slurm::Job;

/// The request of a job that has no nodes and is not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingJob {
    user: u32,
    restart: u16,
    tres: String,
}

impl WaitingJob {
    /// None for a job that does not wait.
    pub(crate) fn of(job: impl Job) -> Option<Self> {
        let waits = job.is_pending() && !job.is_completing() && job.priority() != 0;
        let tres = job.tres_per_node()?;
        waits.then(|| Self { user: job.user(), restart: job.restart_count(), tres })
    }

    /// Its request, if it can be met.
    pub(crate) fn wanted(&self, models: &Models) -> Option<Resolved> {
        // Its options cannot have changed.
        let request = Request { tres: self.tres.clone(), ..Request::default() };
        models.find(&request).ok().flatten()
    }

    /// Whether this claim was made for its request.
    pub(crate) fn has_claimed(&self, wanted: &Resolved, ledger: &Ledger, claim: &Claim) -> bool {
        wanted.is_claimed_by(ledger, claim, self.user, self.restart)
    }
}
