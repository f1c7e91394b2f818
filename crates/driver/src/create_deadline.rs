//! The end of a create without a partition: CreateTimeout, a cancellation, and the time that troubles add.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, Words, words};

use crate::resource::{Health, Resource};

/// The reason why a create ends without its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The ledger asked for it.
    Cancelled,
    /// CreateTimeout is over.
    TimedOut,
    /// Not now, and not on this controller.
    PutOff(Words),
    /// Another try would not help.
    Failed(Words),
    /// The id cannot be used any more.
    IdSpent,
}

/// The longest time beyond CreateTimeout for which a run may hold its nodes during a trouble that is no job's
/// fault. Then the run goes back into the line and frees its nodes.
pub(crate) const LONGEST_TROUBLE: Duration = Duration::from_secs(12 * 3600);

/// The time limit of a create: CreateTimeout for a job that has its nodes, and half of it for a job in line.
/// The latter tries once more when it has its nodes.
pub(crate) fn limit(run: JobRun, create_timeout: Duration) -> Duration {
    if run.has_begun() { create_timeout } else { create_timeout / 2 }
}

/// Ends waiting when the create is cancelled or its time is over. The time stands still while a resource that
/// all jobs need is in trouble.
pub(crate) struct CreateDeadline {
    cancel: CancellationToken,
    limit: Duration,
    deadline: Cell<Instant>,
    /// The end whatever happens.
    latest: Instant,
    /// The needed resources, and the time that each had lost when it became needed.
    needs: RefCell<Vec<(Rc<Resource>, Duration)>>,
}

impl CreateDeadline {
    /// A deadline that begins now.
    pub fn new(cancel: CancellationToken, limit: Duration) -> Self {
        let end = Instant::now() + limit;
        let (deadline, latest) = (Cell::new(end), end + LONGEST_TROUBLE);
        Self { cancel, limit, deadline, latest, needs: RefCell::default() }
    }

    /// The time limit in whole seconds.
    pub fn seconds(&self) -> u64 {
        self.limit.as_secs()
    }

    /// Half of the time limit.
    pub fn half(&self) -> Duration {
        self.limit / 2
    }

    /// Sets the resources that are needed from now on.
    pub fn minds(&self, needs: &[Rc<Resource>]) {
        self.deadline.set(self.end());
        self.needs.replace(needs.iter().map(|need| (Rc::clone(need), need.time_lost())).collect());
    }

    fn end(&self) -> Instant {
        let needs = self.needs.borrow();
        self.deadline.get() + needs.iter().map(|(need, before)| need.time_lost() - *before).sum::<Duration>()
    }

    /// Waits until the deadline is over.
    async fn over(&self) {
        loop {
            let end = self.end();
            sleep_until(end).await;
            let needs: Vec<_> = self.needs.borrow().iter().map(|(need, _)| Rc::clone(need)).collect();
            for need in needs {
                need.well().await;
            }
            if self.end() == end {
                return;
            }
        }
    }

    /// Waits until the run has held its nodes for too long, for whatever reason.
    async fn outlasted(&self) -> Stop {
        sleep_until(self.latest).await;
        let trouble = self.needs.borrow().iter().find_map(|(need, _)| match need.health() {
            Health::Trouble(words) => Some(words),
            Health::Unknown | Health::Well => None,
        });
        let hours = LONGEST_TROUBLE.as_secs() / 3600;
        Stop::PutOff(match trouble {
            Some(words) => words!("no partition for {hours} h: {words}"),
            None => words!("no partition for {hours} h"),
        })
    }

    /// Waits for `work`. Drops it if the deadline comes first.
    pub async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            done = work => Ok(done),
            () = self.over() => Err(Stop::TimedOut),
            stop = self.outlasted() => Err(stop),
        }
    }

    /// Waits for work whose delay is no job's fault. The time does not count.
    pub async fn hold_unhurried<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        let began = Instant::now();
        let held = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            done = work => Ok(done),
            stop = self.outlasted() => Err(stop),
        };
        self.deadline.update(|deadline| deadline + began.elapsed());
        held
    }

    /// Waits for `pause`.
    pub async fn pause(&self, pause: Duration) -> Result<(), Stop> {
        self.hold(sleep(pause)).await
    }
}
