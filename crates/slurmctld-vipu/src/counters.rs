//! The counters of the status document that this crate counts.
//!
//! [`crate::reporting_controller`] counts the calls of a controller.

mod journal;

pub(crate) use journal::CountedJournal;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use vipu_status::{Histogram, Status};
use vipu_types::PodId;

use crate::reporting_controller::ControllerFacts;

/// The bounds for the time of one look at a job, in seconds.
const JOB_TEST: [f64; 9] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];

/// All counters since the plugin was opened. Each lock is held for an addition or a copy.
pub(crate) struct Counters {
    job_tests: Mutex<Histogram>,
    journal: Arc<Mutex<journal::State>>,
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
    pub(crate) fn of_journal(&self) -> Arc<Mutex<journal::State>> {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
