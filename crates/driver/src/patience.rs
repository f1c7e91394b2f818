//! How long a create goes on.

use std::future::Future;

use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use vipu_types::JobRun;

/// Why a create ends without its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The ledger asked for it.
    Cancelled,
    /// CreateTimeout is over.
    TimedOut,
    /// Something that trying again would not mend.
    Failed(String),
}

/// How long a create is tried: half as long for a job that still waits in line, which tries once more, and for all of
/// that time, when it has its nodes.
pub(crate) fn limit(run: JobRun, create_timeout: Duration) -> Duration {
    if run.has_begun() { create_timeout } else { create_timeout / 2 }
}

/// Ends waiting when the create is cancelled or its time is over.
pub(crate) struct Patience {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Patience {
    pub fn new(cancel: CancellationToken, limit: Duration) -> Self {
        Self { cancel, deadline: Instant::now() + limit }
    }

    /// Waits for `work`; drops it when patience ends first.
    pub async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            done = work => Ok(done),
            () = sleep_until(self.deadline) => Err(Stop::TimedOut),
        }
    }

    /// Waits for `pause`.
    pub async fn pause(&self, pause: Duration) -> Result<(), Stop> {
        self.hold(sleep(pause)).await
    }
}
