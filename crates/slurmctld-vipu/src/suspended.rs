//! Jobs that have their partition, and were suspended before they were launched.

use std::time::Duration;

use ledger::Claim;
use slurm_host::locks::HostThread;

/// How often they are asked whether they still are.
const POLL: Duration = Duration::from_millis(250);

/// All of them.
#[derive(Default)]
pub(crate) struct Suspended(Vec<Claim>);

impl Suspended {
    /// Waits for these, too.
    pub(crate) fn await_resumed(&mut self, claims: Vec<Claim>) {
        self.0.extend(claims);
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        if self.0.is_empty() { Duration::MAX } else { POLL }
    }

    /// Those that are suspended no longer: resumed, or at their end.
    pub(crate) fn look(&mut self, slurm: &mut HostThread) -> Vec<Claim> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let claims = std::mem::take(&mut self.0);
        let (still, others) = slurm.read(|seen| {
            claims.into_iter().partition(|claim| seen(claim.run.job).is_some_and(|job| job.suspended))
        });
        self.0 = still;
        others
    }
}
