//! A job that waits in Slurm's queue.

use ledger::Claim;

use crate::frontend::Frontend;
use crate::request::Request;
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

    /// Whether the job asks for the partition that is claimed for it.
    pub(crate) fn wants(&self, frontend: &Frontend, claim: &Claim) -> bool {
        // Its options cannot have changed.
        let request = Request { tres: self.tres.clone(), ..Request::default() };
        let found = frontend.models(|models| models.find(&request).ok().flatten());
        found.is_some_and(|wanted| wanted.is_claimed_by(&frontend.ledger(), claim, self.user, self.restart))
    }
}
