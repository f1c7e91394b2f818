//! The calls of the user API.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use prost::Message;
use tonic::{Code, ConnectError, Request, Status};
use vipu_types::{Gcd, PartitionId};

use crate::access::Keyring;
use crate::channel::Link;
use crate::files::Trouble;
use crate::{
    BadEndpoint, BoundedThreads, Call, Endpoint, Error, ErrorClass, Ipu, PartitionInfo, PartitionStatus,
    Requirements, wire,
};

/// The most threads that look up the name and read the files of one controller.
const MOST_THREADS: usize = 2;

/// A controller. Cheap to clone; clones share one connection.
///
/// Its methods need a tokio runtime with time and I/O, always the same one.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    name: String,
    link: Link,
    keyring: Keyring,
}

impl Client {
    /// Creates a client of the controller at `endpoint`. Nothing is sent before the first call.
    ///
    /// # Errors
    /// When the host is neither a name nor an address.
    pub fn new(endpoint: Endpoint) -> Result<Self, BadEndpoint> {
        let threads = BoundedThreads::new(MOST_THREADS);
        let link = Link::new(&endpoint, threads.clone())?;
        let keyring = Keyring::new(endpoint.access.clone(), threads);
        let shared = Shared { link, keyring, name: endpoint.to_string(), endpoint };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The address of the controller, and the settings of its calls.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }

    /// Starts making a partition; [`Client::partition_status`] tells when it is ready.
    ///
    /// # Errors
    /// Any failure of the call. The controller may have started, unless it answered or the class is
    /// [`ErrorClass::NotSent`].
    pub async fn create_partition(&self, wanted: &Requirements) -> Result<(), Error> {
        let (call, id) = (Call::CreatePartition, wanted.id.as_str());
        let request = wire::CreatePartitionRequest::from(wanted);
        let reply: wire::CreatePartitionReply = self.call(call, Some(id), request).await?;
        let made = reply.partition_id;
        if made.is_empty() || made == id {
            Ok(())
        } else {
            let words = format!("the controller called it '{made}' instead");
            Err(Error::new(&self.shared.name, call, Some(id), ErrorClass::Other, &words))
        }
    }

    /// Starts removing a partition. The partition is gone when its status is [`ErrorClass::NotFound`].
    /// With `force`, errors on the controller's way to the removal do not matter.
    ///
    /// # Errors
    /// Any failure of the call.
    pub async fn remove_partition(&self, id: &PartitionId, force: bool) -> Result<(), Error> {
        let request = wire::RemovePartitionRequest { partition_id: id.to_string(), force };
        let reply = self.call(Call::RemovePartition, Some(id.as_str()), request).await;
        reply.map(|wire::RemovePartitionReply {}| ())
    }

    /// Starts resetting a partition to its initial state. [`Client::partition_status`] tells when it is ready
    /// again.
    ///
    /// # Errors
    /// Any failure of the call.
    pub async fn reset_partition(&self, id: &PartitionId) -> Result<(), Error> {
        let request = wire::ResetPartitionRequest { partition_id: id.to_string(), relocatable: false };
        let reply = self.call(Call::ResetPartition, Some(id.as_str()), request).await;
        reply.map(|wire::ResetPartitionReply {}| ())
    }

    /// Returns the status of a partition.
    ///
    /// # Errors
    /// [`ErrorClass::NotFound`] if there is no such partition, and any other failure of the call.
    pub async fn partition_status(&self, id: &PartitionId) -> Result<PartitionStatus, Error> {
        let call = Call::GetPartitionStatus;
        let request = wire::GetPartitionStatusRequest { partition_id: id.to_string() };
        let reply: wire::GetPartitionStatusReply = self.call(call, Some(id.as_str()), request).await?;
        reply.status.map(PartitionStatus::from).ok_or_else(|| self.empty(call, id, "a status"))
    }

    /// Returns the IPUoF configuration of an active partition, with all its GCDs.
    ///
    /// # Errors
    /// [`ErrorClass::NotReady`] before the partition is active, and any other failure of the call.
    pub async fn partition_config(&self, id: &PartitionId) -> Result<Vec<Gcd>, Error> {
        let call = Call::GetPartitionIpuofConfig;
        let request = wire::GetPartitionIpuofConfigRequest { partition_id: id.to_string() };
        let reply: wire::GetPartitionIpuofConfigReply = self.call(call, Some(id.as_str()), request).await?;
        let config = reply.ipuof_config.ok_or_else(|| self.empty(call, id, "a configuration"))?;
        Ok(config.gcd_configs.into_iter().map(Gcd::from).collect())
    }

    /// Lists the partitions of one allocation or of all.
    ///
    /// # Errors
    /// Any failure of the call.
    pub async fn list_partitions(&self, allocation: Option<&str>) -> Result<Vec<PartitionInfo>, Error> {
        let allocation_id = allocation.unwrap_or_default().to_owned();
        let request = wire::ListPartitionsRequest { allocation_id };
        let reply: wire::ListPartitionsReply = self.call(Call::ListPartitions, None, request).await?;
        Ok(reply.partitions.into_iter().map(PartitionInfo::from).collect())
    }

    /// Lists the IPUs of these agents or, if none is named, of all.
    ///
    /// # Errors
    /// Any failure of the call.
    pub async fn list_ipus(&self, agents: &[String]) -> Result<Vec<Ipu>, Error> {
        let request = wire::ListIpuAttributesRequest { agents: agents.to_vec() };
        let reply: wire::ListIpuAttributesReply = self.call(Call::ListIpuAttributes, None, request).await?;
        Ok(reply.entries.into_iter().flat_map(Ipu::of_entry).collect())
    }

    /// Returns the version of the controller, for people.
    ///
    /// # Errors
    /// Any failure of the call. A controller need not have this call.
    pub async fn version(&self) -> Result<String, Error> {
        let reply: wire::VersionReply = self.call(Call::GetVersion, None, wire::VersionRequest {}).await?;
        Ok(reply.version)
    }

    fn empty(&self, call: Call, id: &PartitionId, missing: &str) -> Error {
        let words = format!("the controller answered without {missing}");
        Error::new(&self.shared.name, call, Some(id.as_str()), ErrorClass::Other, &words)
    }

    /// Makes a call within the timeout of the endpoint. The deadline is kept here, not by the transport, so
    /// that connecting and waiting for the connection count too.
    async fn call<Q, R>(&self, call: Call, partition: Option<&str>, request: Q) -> Result<R, Error>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let Shared { endpoint, name, link, keyring } = &*self.shared;
        let channel = link.channel();
        let work = async {
            let mut request = Request::new(request);
            keyring.credentials().await?.sign(request.metadata_mut());
            wire::unary((*channel).clone(), call, request).await
        };
        match tokio::time::timeout(endpoint.timeout, work).await {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) if status.code() == Code::Unauthenticated && status.source().is_none() => {
                let words = format!("{}; {}", status.message(), keyring.refused());
                Err(Error::answered(name, call, partition, status.code(), &words))
            }
            Ok(Err(status)) => Err(failure(name, call, partition, &status)),
            Err(_) => {
                link.replace(&channel);
                Err(Error::timeout(name, call, partition, endpoint.timeout))
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.shared.name)
    }
}

/// Returns the error of a failed call. A status with a source was made on this side, out of a broken
/// connection. The transport guesses its code, which would mislead: an overdone ping comes as
/// RESOURCE_EXHAUSTED.
fn failure(controller: &str, call: Call, partition: Option<&str>, status: &Status) -> Error {
    let Some(source) = status.source() else {
        return Error::answered(controller, call, partition, status.code(), status.message());
    };
    let class = if was_not_sent(source) { ErrorClass::NotSent } else { ErrorClass::Unreachable };
    Error::new(controller, call, partition, class, &root_cause(source))
}

/// Whether the call failed before it was sent. The transport sends a call only over a connection that is
/// made, and never twice. After a failure to connect (name, TCP, TLS), nothing of the call is on the way.
fn was_not_sent(mut error: &(dyn StdError + 'static)) -> bool {
    loop {
        if error.is::<ConnectError>() || error.is::<Trouble>() {
            return true;
        }
        let Some(source) = error.source() else { return false };
        error = source;
    }
}

fn root_cause(mut error: &dyn StdError) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
