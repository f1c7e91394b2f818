//! The real controller: [`vipu_client::Client`].

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

use ledger::{Place, SeenPartition};
use vipu_client::{
    Client, Endpoint, Error, ErrorClass, Ipu, OperationState, PartitionInfo, ReadyState, Requirements, Status,
};
use vipu_types::{ControllerName, Gcd, PartitionId};

use crate::{CallError, Controller, CreateRequest, Failure, Listing, PartitionState};

/// The attribute that names the partition an IPU is in.
const PARTITION: &str = "ipuof partition id";

impl Controller for Client {
    type Config = Vec<Gcd>;

    fn name(&self) -> impl Display {
        self.endpoint()
    }

    fn beside(&self, name: &ControllerName) -> Result<Self, String> {
        let (host, port) = (name.host().to_owned(), name.port());
        Client::new(Endpoint { host, port, ..self.endpoint().clone() }).map_err(|why| why.to_string())
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        let wanted = Requirements {
            allocation: request.allocation.map(str::to_owned),
            reconfigurable: request.reconfigurable,
            ..Requirements::new(request.partition.clone(), request.size).across(request.domain_size)
        };
        Ok(self.create_partition(&wanted).await?)
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        match self.partition_status(partition).await {
            Ok(status) => Ok(state(&status)),
            Err(error) if error.class() == ErrorClass::NotFound => Ok(PartitionState::Absent),
            Err(error) => Err(error.into()),
        }
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Vec<Gcd>, CallError> {
        let config = self.partition_config(partition).await?;
        if config.gcds.is_empty() || config.gcds.iter().any(|gcd| gcd.devices.is_empty()) {
            let message =
                format!("controller {}: no device in the IPUoF config of {partition}", self.endpoint());
            return Err(CallError { failure: Failure::Unclear, message });
        }
        Ok(config.gcds)
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        match self.remove_partition(partition, force).await {
            Err(error) if error.class() != ErrorClass::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn survey(&self) -> Result<Listing, CallError> {
        let (ipus, partitions) = tokio::try_join!(self.list_ipus(&[]), self.list_partitions(None))?;
        // An IPU of a partition is taken already, sound or not.
        let unusable = |ipu: &&Ipu| ipu.fault().is_some() && !ipu.attributes.contains_key(PARTITION);
        let faulty = ipus.iter().filter(unusable).count();
        let there = partitions.into_iter().filter(|partition| partition.ready != ReadyState::Removed);
        Ok(Listing {
            ipus: u32::try_from(ipus.len()).unwrap_or(u32::MAX),
            faulty: u32::try_from(faulty).unwrap_or(u32::MAX),
            partitions: there.filter_map(seen).collect(),
        })
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let failure = match error.class() {
            ErrorClass::Invalid | ErrorClass::Denied => Failure::Refused,
            ErrorClass::NoRoom => Failure::NoRoom,
            ErrorClass::AlreadyExists => Failure::Exists,
            ErrorClass::Unreachable
            | ErrorClass::Timeout
            | ErrorClass::NotFound
            | ErrorClass::NotReady
            | ErrorClass::Other => Failure::Unclear,
        };
        Self { failure, message: error.to_string() }
    }
}

/// What two states that are told together amount to.
fn state(status: &Status) -> PartitionState {
    match (status.ready, status.operation) {
        (ReadyState::Removed, _) => PartitionState::Absent,
        (_, OperationState::Removing) => PartitionState::Removing,
        (ReadyState::Active, _) => PartitionState::Active,
        (ReadyState::Error, OperationState::Resetting) => PartitionState::Resetting,
        (ReadyState::Error, _) if status.errors.is_empty() => {
            PartitionState::Failed("no reason given".into())
        }
        (ReadyState::Error, _) => PartitionState::Failed(status.errors.join("; ")),
        (ReadyState::Pending | ReadyState::Undefined | ReadyState::Unknown(_), _) => PartitionState::Pending,
    }
}

fn seen(partition: PartitionInfo) -> Option<SeenPartition> {
    let id = PartitionId::new(partition.id.as_str()).or_else(|_| PartitionId::new(stand_in(&partition.id)));
    let places = partition.places.iter().map(|place| Place { domain: place.domain, index: place.index });
    Some(SeenPartition { places: places.collect(), partition: id.ok()? })
}

/// What to call a partition of others whose name is none that we would give: its IPUs count all the same.
fn stand_in(name: &str) -> String {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("foreign-{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ready: ReadyState, operation: OperationState, errors: &[&str]) -> PartitionState {
        let errors = errors.iter().map(|&words| words.to_owned()).collect();
        state(&Status { ready, operation, errors, ..Status::default() })
    }

    #[test]
    fn an_error_is_final_unless_the_controller_resets_it() {
        let failed = |words: &str| PartitionState::Failed(words.to_owned());
        let [idle, resetting] = [OperationState::Idle, OperationState::Resetting];
        assert_eq!(told(ReadyState::Error, resetting, &["link"]), PartitionState::Resetting);
        assert_eq!(told(ReadyState::Error, OperationState::Failed, &["a", "b"]), failed("a; b"));
        assert_eq!(told(ReadyState::Error, idle, &[]), failed("no reason given"));
        assert_eq!(told(ReadyState::Pending, resetting, &[]), PartitionState::Pending);
        assert_eq!(told(ReadyState::Active, idle, &[]), PartitionState::Active);
    }

    #[test]
    fn what_is_being_removed_is_neither_usable_nor_failed() {
        for ready in [ReadyState::Active, ReadyState::Error, ReadyState::Pending] {
            assert_eq!(told(ready, OperationState::Removing, &["x"]), PartitionState::Removing);
        }
        assert_eq!(told(ReadyState::Removed, OperationState::Removing, &[]), PartitionState::Absent);
    }

    #[test]
    fn a_foreign_partition_counts_whatever_its_name() {
        let names = ["p 1", "p 2", "p64", ""];
        let ids: Vec<_> = names
            .map(|id| {
                let places = vec![vipu_client::Place { domain: 1, index: 7 }];
                let seen = seen(PartitionInfo { id: id.into(), places, ..partition() }).unwrap();
                assert_eq!(seen.places, [Place { domain: 1, index: 7 }]);
                seen.partition.to_string()
            })
            .into();
        assert_eq!(ids[2], "p64");
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    }

    fn partition() -> PartitionInfo {
        PartitionInfo {
            id: String::new(),
            ready: ReadyState::Active,
            places: Vec::new(),
            allocation: String::new(),
            cluster: String::new(),
            reconfigurable: false,
            num_gcds: 1,
            num_replicas: 1,
        }
    }
}
