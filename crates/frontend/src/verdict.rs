//! The answer to a test of a job.

use crate::frontend::Frontend;
use crate::slurm::Job;

/// The answer to a test of a job.
pub enum Verdict {
    /// The stock selector decides.
    Go,
    /// Yes, and the stock selector need not be asked.
    Answered,
    /// Not now. squeue shows the reason.
    Wait,
    /// Never: no configuration could meet the request.
    Never,
    /// The test has to be repeated: other nodes may do.
    Again,
}

/// Not now, for this reason.
pub(crate) fn wait(frontend: &Frontend, job: impl Job, why: String) -> Verdict {
    frontend.show_reason(job.id(), why);
    Verdict::Wait
}
