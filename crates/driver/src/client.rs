//! The real controller: [`vipu_client::Client`].

use std::collections::BTreeSet;
use std::fmt::Display;

use vipu_client::{Client, Endpoint, ErrorClass, OperationState, PartitionStatus, ReadyState, Requirements};
use vipu_types::{ControllerName, Gcd, PartitionId, Words, words};

use crate::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState, listing};

impl Controller for Client {
    type Config = Vec<Gcd>;

    fn name(&self) -> impl Display {
        self.endpoint()
    }

    fn beside(&self, name: &ControllerName) -> Result<Self, Words> {
        let (host, port) = (name.host().to_owned(), name.port());
        Client::new(Endpoint { host, port, ..self.endpoint().clone() }).map_err(Words::of)
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        failpoints::io!("a controller");
        Ok(self.create_partition(&request.into()).await?)
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        failpoints::io!("a controller");
        match self.partition_status(partition).await {
            Ok(status) => Ok(status.into()),
            Err(error) if error.class() == ErrorClass::NotFound => Ok(PartitionState::Absent),
            Err(error) => Err(error.into()),
        }
    }

    async fn pending(&self, settings: &ModelSettings) -> Result<BTreeSet<PartitionId>, CallError> {
        failpoints::io!("a controller");
        let mut listed = self.list_partitions(settings.allocation.as_deref()).await?;
        listed.retain(|partition| partition.ready == ReadyState::Pending);
        Ok(listed.into_iter().filter_map(|partition| PartitionId::new(partition.id).ok()).collect())
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Vec<Gcd>, CallError> {
        failpoints::io!("a controller");
        let gcds = self.partition_config(partition).await?;
        if gcds.is_empty() || gcds.iter().any(|gcd| gcd.devices.is_empty()) {
            let cause = words!("no device in the IPUoF config of {partition}");
            let message = words!("controller {}: {cause}", self.endpoint());
            return Err(CallError { failure: Failure::Unclear, message, cause });
        }
        Ok(gcds)
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        failpoints::io!("a controller");
        match self.remove_partition(partition, force).await {
            Err(error) if error.class() != ErrorClass::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn reset(&self, partition: &PartitionId) -> Result<(), CallError> {
        failpoints::io!("a controller");
        Ok(self.reset_partition(partition).await?)
    }

    async fn survey(&self, settings: &ModelSettings) -> Result<Listing, CallError> {
        failpoints::io!("a controller");
        Ok(listing::ask(self, settings).await?)
    }
}

impl From<&CreateRequest<'_>> for Requirements {
    fn from(request: &CreateRequest<'_>) -> Self {
        let wanted = Self {
            allocation: request.allocation.map(str::to_owned),
            // An allocation makes a cluster meaningless. A list of chosen IPUs needs a cluster.
            cluster: request.cluster.filter(|_| !request.ipus.is_empty()).map(str::to_owned),
            ipus: request.ipus.to_vec(),
            shape: request.shape,
            ..Self::new(request.partition.clone(), request.size)
        };
        wanted.across(request.domain_size)
    }
}

impl From<PartitionStatus> for PartitionState {
    /// The partition state for the two states that the controller reports together.
    fn from(PartitionStatus { ready, operation, errors }: PartitionStatus) -> Self {
        match (ready, operation) {
            (ReadyState::Removed, _) => Self::Removed,
            (_, OperationState::Removing) => Self::Removing,
            (ReadyState::Active | ReadyState::Error, OperationState::Resetting) => Self::Resetting,
            (ReadyState::Active, _) => Self::Active,
            (ReadyState::Error, _) if errors.is_empty() => Self::Failed("no reason given".into()),
            (ReadyState::Error, _) => Self::Failed(errors.join("; ").into()),
            (ReadyState::Pending | ReadyState::Undefined | ReadyState::Unknown(_), _) => Self::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ready: ReadyState, operation: OperationState, errors: &[&str]) -> PartitionState {
        let errors = errors.iter().map(|&words| words.to_owned()).collect();
        PartitionStatus { ready, operation, errors }.into()
    }

    #[test]
    fn a_partition_in_reset_is_not_usable() {
        let [idle, resetting] = [OperationState::Idle, OperationState::Resetting];
        assert_eq!(told(ReadyState::Active, resetting, &[]), PartitionState::Resetting);
        assert_eq!(told(ReadyState::Active, idle, &[]), PartitionState::Active);
    }

    #[test]
    fn an_error_is_final_unless_the_controller_resets_it() {
        let failed = |words: &str| PartitionState::Failed(words.into());
        let [idle, resetting] = [OperationState::Idle, OperationState::Resetting];
        assert_eq!(told(ReadyState::Error, resetting, &["link"]), PartitionState::Resetting);
        assert_eq!(told(ReadyState::Error, OperationState::Failed, &["a", "b"]), failed("a; b"));
        assert_eq!(told(ReadyState::Error, idle, &[]), failed("no reason given"));
        assert_eq!(told(ReadyState::Pending, resetting, &[]), PartitionState::Pending);
        assert_eq!(told(ReadyState::Active, idle, &[]), PartitionState::Active);
    }

    #[test]
    fn a_partition_being_removed_is_neither_usable_nor_failed() {
        for ready in [ReadyState::Active, ReadyState::Error, ReadyState::Pending] {
            assert_eq!(told(ready, OperationState::Removing, &["x"]), PartitionState::Removing);
        }
        for operation in [OperationState::Removing, OperationState::Idle] {
            assert_eq!(told(ReadyState::Removed, operation, &[]), PartitionState::Removed);
        }
    }
}
