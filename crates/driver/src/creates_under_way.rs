//! The creates that wait for one controller. Many of them share one call that lists the partitions.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use vipu_types::PartitionId;

use crate::{Controller, ModelSettings};

/// The number of creates from which on they share calls. A listing of all partitions is a longer answer than the state of
/// one.
const MANY: u32 = 4;

/// The longest time that creates wait for a listing. Each of them asks for its own partition then.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The time for which no listing is asked for after one that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// The creates that wait for one controller.
#[derive(Default)]
pub(crate) struct CreatesUnderWay {
    count: Cell<u32>,
    last: Mutex<Option<Listed>>,
}

/// A listing of partitions.
struct Listed {
    asked: Instant,
    /// The partitions that are being made. None if the call failed.
    pending: Option<BTreeSet<PartitionId>>,
}

/// One of the creates. It counts until it is dropped.
pub(crate) struct UnderWay<'a>(&'a CreatesUnderWay);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.count.update(|count| count - 1);
    }
}

impl CreatesUnderWay {
    /// Counts a create.
    pub fn begin(&self) -> UnderWay<'_> {
        self.count.update(|count| count + 1);
        UnderWay(self)
    }
}

impl UnderWay<'_> {
    /// Whether a listing shows that the partition is still being made. If not, the controller has to be asked for its
    /// state. The create has paused for this time: a listing of its second half is new enough.
    pub async fn is_pending<C: Controller>(
        &self,
        controller: &C,
        settings: &ModelSettings,
        partition: &PartitionId,
        paused: Duration,
    ) -> bool {
        if self.0.count.get() < MANY {
            return false;
        }
        let mut last = self.0.last.lock().await;
        let counts = |listed: &Listed| {
            listed.asked.elapsed() < if listed.pending.is_some() { paused / 2 } else { AFTER_FAILURE }
        };
        if !last.as_ref().is_some_and(counts) {
            let asked = Instant::now();
            let answer = timeout(LONGEST_WAIT, controller.pending(settings)).await;
            *last = Some(Listed { asked, pending: answer.ok().and_then(Result::ok) });
        }
        last.as_ref()
            .and_then(|listed| listed.pending.as_ref())
            .is_some_and(|pending| pending.contains(partition))
    }
}
