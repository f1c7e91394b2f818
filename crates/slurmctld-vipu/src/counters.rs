//! The counters of the status document that this crate counts.
//!
//! [`crate::reporting_controller`] counts the calls of a controller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use driver::{Entry, Journal, JournalError};
use vipu_status::{Histogram, Status};
use vipu_types::PodId;

use crate::reporting_controller::{ControllerFacts, lock};

/// The bounds for the time of one look at a job, in seconds.
const JOB_TEST: [f64; 9] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];

/// All counters since the plugin was opened. Each lock is held for an addition or a copy.
pub(crate) struct Counters {
    job_tests: Mutex<Histogram>,
    journal: Arc<Mutex<JournalState>>,
    controllers: Mutex<BTreeMap<PodId, Arc<Mutex<ControllerFacts>>>>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            job_tests: Mutex::new(Histogram::new(&JOB_TEST)),
            journal: Arc::default(),
            controllers: Mutex::default(),
        }
    }
}

impl Counters {
    /// Measures a look at a job until the timer is dropped. Slurm waits meanwhile.
    pub(crate) fn job_test(&self) -> JobTestTimer<'_> {
        JobTestTimer { began: Instant::now(), times: &self.job_tests }
    }

    /// The facts about a controller. They outlive a change of configuration.
    pub(crate) fn of_controller(&self, pod: &PodId) -> Arc<Mutex<ControllerFacts>> {
        Arc::clone(lock(&self.controllers).entry(pod.clone()).or_default())
    }

    /// The counters of the journal.
    pub(crate) fn of_journal(&self) -> Arc<Mutex<JournalState>> {
        Arc::clone(&self.journal)
    }

    /// Fills them into a document.
    pub(crate) fn fill_in(&self, status: &mut Status) {
        status.counters.job_tests = lock(&self.job_tests).clone();
        status.counters.journal = lock(&self.journal).counters(Instant::now());
        let controllers = lock(&self.controllers).clone();
        for (PodId { model, controller }, facts) in controllers {
            let (model, controller) = (model.to_string(), controller.to_string());
            let models = status.models.iter_mut().filter(|it| it.name == model);
            let mut pods = models.flat_map(|it| &mut it.pods).filter(|it| it.controller == controller);
            if let Some(pod) = pods.next() {
                let ControllerFacts { counters, version } = lock(&facts).clone();
                (pod.counters, pod.version) = (counters, version);
            }
        }
    }
}

/// Adds its lifetime to the times of looks at jobs.
pub(crate) struct JobTestTimer<'a> {
    began: Instant,
    times: &'a Mutex<Histogram>,
}

impl Drop for JobTestTimer<'_> {
    fn drop(&mut self) {
        lock(self.times).add(self.began.elapsed().as_secs_f64());
    }
}

/// The entries so far.
#[derive(Default)]
pub(crate) struct JournalState {
    /// The number of all entries.
    given: u64,
    /// The entries that are not on disk yet, by number, each with the time at which it was given.
    pending: BTreeMap<u64, Instant>,
    written: u64,
}

impl JournalState {
    fn counters(&self, now: Instant) -> vipu_status::Journal {
        let oldest = self.pending.values().next();
        let lag = oldest.map_or(0.0, |given| now.saturating_duration_since(*given).as_secs_f64());
        vipu_status::Journal { entries: self.written, lag }
    }
}

/// A journal whose entries are counted.
pub(crate) struct CountedJournal<J> {
    journal: J,
    state: Arc<Mutex<JournalState>>,
}

impl<J> CountedJournal<J> {
    pub(crate) fn new(journal: J, state: Arc<Mutex<JournalState>>) -> Self {
        Self { journal, state }
    }
}

/// An entry that is not on disk yet. Dropping it takes it out, also if its future is dropped.
struct Pending<'a> {
    number: u64,
    state: &'a Mutex<JournalState>,
}

impl<'a> Pending<'a> {
    fn new(state: &'a Mutex<JournalState>) -> Self {
        let mut locked = lock(state);
        let number = locked.given;
        locked.given += 1;
        locked.pending.insert(number, Instant::now());
        Self { number, state }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        lock(self.state).pending.remove(&self.number);
    }
}

impl<J: Journal> Journal for CountedJournal<J> {
    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        let pending = Pending::new(&self.state);
        self.journal.record(entry).await?;
        drop(pending);
        lock(&self.state).written += 1;
        Ok(())
    }

    async fn confirm(&self) -> Result<(), JournalError> {
        self.journal.confirm().await
    }

    fn is_complete(&self) -> bool {
        self.journal.is_complete()
    }

    async fn superseded(&self) -> JournalError {
        self.journal.superseded().await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future as _, pending};
    use std::pin::pin;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use driver::NoJournal;
    use ledger::Seconds;
    use vipu_types::PartitionId;

    use super::*;

    /// A journal on a disk that hangs.
    struct Hanging;

    impl Journal for Hanging {
        async fn record(&self, _: Entry) -> Result<(), JournalError> {
            pending().await
        }
    }

    /// The state after an entry was given to this journal, with its future still there and without it.
    fn states(journal: impl Journal) -> [vipu_status::Journal; 2] {
        let state = Arc::default();
        let journal = CountedJournal::new(journal, Arc::clone(&state));
        let entry = Entry::Launched { partition: PartitionId::new("slurm_1").unwrap(), at: Seconds(0) };
        let later = || lock(&state).counters(Instant::now() + Duration::from_secs(60));
        let meanwhile = {
            let mut record = pin!(journal.record(entry));
            let _ = record.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            later()
        };
        [meanwhile, later()]
    }

    #[test]
    fn cli_status_counts_entries_on_disk_and_the_lag_of_others() {
        let [hanging, dropped] = states(Hanging);
        assert!(hanging.lag >= 60.0 && hanging.entries == 0, "{hanging:?}");
        assert_eq!(dropped, vipu_status::Journal::default());
        let [written, _] = states(NoJournal);
        assert_eq!((written.entries, written.lag), (1, 0.0));
    }
}
