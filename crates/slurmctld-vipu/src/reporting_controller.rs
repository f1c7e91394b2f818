//! A controller whose calls are counted, and whose changes are in the audit log.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use driver::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState};
use vipu_client::Client;
use vipu_status::ControllerCounters;
use vipu_types::{ControllerName, JobRun, PartitionId, PodId, Words};

use crate::audit_thread::{Audit, Change};

/// The most characters of a version.
const VERSION: usize = 64;

/// The facts about a controller for the status document.
#[derive(Clone, Default)]
pub(crate) struct ControllerFacts {
    pub(crate) counters: ControllerCounters,
    /// The version of its API, as it told when it last began to answer.
    pub(crate) version: Option<String>,
}

/// A [`Client`] that reports its calls.
pub(crate) struct ReportingController {
    pod: PodId,
    client: Client,
    facts: Arc<Mutex<ControllerFacts>>,
    /// None if AuditLevel leaves out the changes on controllers.
    audit: Option<Audit>,
    /// The partitions that are being made or removed, each with the state that ends it and the time of the first
    /// call.
    under_way: Mutex<HashMap<PartitionId, (PartitionState, Instant)>>,
}

impl ReportingController {
    pub(crate) fn new(
        pod: PodId,
        client: Client,
        facts: Arc<Mutex<ControllerFacts>>,
        audit: Option<Audit>,
    ) -> Self {
        Self { pod, client, facts, audit, under_way: Mutex::default() }
    }

    /// Notes the first call that is to bring the partition into this state.
    fn begin(&self, partition: &PartitionId, wanted: PartitionState, now: Instant) {
        let mut under_way = lock(&self.under_way);
        let entry = under_way.entry(partition.clone()).or_insert_with(|| (wanted.clone(), now));
        if entry.0 != wanted {
            *entry = (wanted, now);
        }
    }

    /// Counts a failed call.
    fn counted<T>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        if let Err(why) = &result {
            *lock(&self.facts).counters.failures.entry(cause(why.failure).to_owned()).or_default() += 1;
        }
        result
    }

    /// Counts a failed call, and puts it into the audit log.
    fn audited<T>(
        &self,
        what: &'static str,
        partition: &PartitionId,
        began: Instant,
        result: Result<T, CallError>,
    ) -> Result<T, CallError> {
        let outcome = result.as_ref().map_or_else(|why| cause(why.failure), |_| "ok");
        self.audit(what, partition, None, began.elapsed(), outcome);
        self.counted(result)
    }

    fn audit(
        &self,
        what: &'static str,
        partition: &PartitionId,
        before: Option<u32>,
        took: Duration,
        outcome: &'static str,
    ) {
        if let Some(audit) = &self.audit {
            let (pod, partition) = (self.pod.clone(), partition.clone());
            audit.change(Change { what, pod, partition, before, seconds: took.as_secs_f64(), outcome });
        }
    }
}

/// The cause of a failure in one word.
fn cause(failure: Failure) -> &'static str {
    match failure {
        Failure::Refused => "refused",
        Failure::Stranger => "unknown_user",
        Failure::NoRoom => "no_room",
        Failure::Exists => "name_taken",
        Failure::NotSent => "not_sent",
        Failure::Unclear => "no_answer",
        Failure::Failed => "error",
    }
}

/// Locks the mutex even if a panic has poisoned it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controller for ReportingController {
    type Config = <Client as Controller>::Config;

    fn name(&self) -> impl Display {
        self.client.name()
    }

    /// The calls to a controller that left its model's list are not counted: the document does not have it.
    fn beside(&self, name: &ControllerName) -> Result<Self, Words> {
        let pod = PodId { controller: name.clone(), ..self.pod.clone() };
        Ok(Self::new(pod, self.client.beside(name)?, Arc::default(), self.audit.clone()))
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        lock(&self.facts).counters.creates += 1;
        let began = Instant::now();
        self.begin(request.partition, PartitionState::Active, began);
        self.audited("create", request.partition, began, self.client.create(request).await)
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        let state = self.counted(self.client.status(partition).await)?;
        let began = match lock(&self.under_way).entry(partition.clone()) {
            Entry::Occupied(entry) if entry.get().0 == state => entry.remove().1,
            _ => return Ok(state),
        };
        let what = if state == PartitionState::Active { "ready" } else { "gone" };
        self.audited(what, partition, began, Ok(state))
    }

    async fn pending(&self, settings: &ModelSettings) -> Result<BTreeSet<PartitionId>, CallError> {
        self.counted(self.client.pending(settings).await)
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Self::Config, CallError> {
        self.counted(self.client.ipuof_config(partition).await)
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        lock(&self.facts).counters.removes += 1;
        let began = Instant::now();
        self.begin(partition, PartitionState::Absent, began);
        self.audited("remove", partition, began, self.client.remove(partition, force).await)
    }

    async fn reset(&self, partition: &PartitionId) -> Result<(), CallError> {
        lock(&self.facts).counters.resets += 1;
        let began = Instant::now();
        self.audited("reset", partition, began, self.client.reset(partition).await)
    }

    fn stays_idle(&self, partition: &PartitionId, took: Duration) {
        self.audit("idle", partition, None, took, "ok");
    }

    fn reused(&self, partition: &PartitionId, before: Option<JobRun>, took: Duration) {
        lock(&self.facts).counters.reuses += 1;
        self.audit("reuse", partition, before.map(|before| before.job), took, "ok");
    }

    async fn survey(&self, settings: &ModelSettings) -> Result<Listing, CallError> {
        let listing = self.counted(self.client.survey(settings).await)?;
        lock(&self.facts).counters.reconciliations += 1;
        Ok(listing)
    }
    /// Asks for the version. A controller that does not tell it has no fault.
    async fn begins_to_answer(&self) {
        let version = self.client.version().await.ok().filter(|version| !version.is_empty());
        lock(&self.facts).version = version.map(|version| version.chars().take(VERSION).collect());
    }
}
