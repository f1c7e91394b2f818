//! A controller whose calls are counted.

use std::fmt::Display;
use std::sync::{Arc, Mutex};

use driver::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState};
use vipu_client::Client;
use vipu_status::ControllerCounters;
use vipu_types::{ControllerName, PartitionId};

use super::lock;

/// A [`Client`] whose calls are counted.
pub(crate) struct CountedController {
    client: Client,
    counters: Arc<Mutex<ControllerCounters>>,
}

impl CountedController {
    pub(crate) fn new(client: Client, counters: Arc<Mutex<ControllerCounters>>) -> Self {
        Self { client, counters }
    }

    /// Counts a failed call.
    fn counted<T>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        if let Err(why) = &result {
            *lock(&self.counters).failures.entry(cause(why.failure).to_owned()).or_default() += 1;
        }
        result
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
    }
}

impl Controller for CountedController {
    type Config = <Client as Controller>::Config;

    fn name(&self) -> impl Display {
        self.client.name()
    }

    /// The calls to a controller that left its model's list are not counted: the document does not have it.
    fn beside(&self, name: &ControllerName) -> Result<Self, String> {
        Ok(Self { client: self.client.beside(name)?, counters: Arc::default() })
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        lock(&self.counters).creates += 1;
        self.counted(self.client.create(request).await)
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        self.counted(self.client.status(partition).await)
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Self::Config, CallError> {
        self.counted(self.client.ipuof_config(partition).await)
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        lock(&self.counters).removes += 1;
        self.counted(self.client.remove(partition, force).await)
    }

    async fn survey(&self, settings: &ModelSettings) -> Result<Listing, CallError> {
        let listing = self.counted(self.client.survey(settings).await)?;
        lock(&self.counters).reconciliations += 1;
        Ok(listing)
    }
}
