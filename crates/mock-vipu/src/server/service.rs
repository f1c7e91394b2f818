//! The user API, served from a Pod.

use std::sync::Arc;

use tokio::sync::futures::OwnedNotified;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use vipu_client::Call;
use vipu_client::wire::user_service_server::UserService;
use vipu_client::wire::version_service_server::VersionService;
use vipu_client::wire::{
    CreatePartitionReply, CreatePartitionRequest, GetPartitionIpuofConfigReply,
    GetPartitionIpuofConfigRequest, GetPartitionStatusReply, GetPartitionStatusRequest,
    ListIpuAttributesReply, ListIpuAttributesRequest, ListPartitionsReply, ListPartitionsRequest,
    RemovePartitionReply, RemovePartitionRequest, ResetPartitionReply, ResetPartitionRequest, VersionReply,
    VersionRequest,
};

use super::{Mock, access};
use crate::pod::{CallFate, Effect, Nanos, Pod, Refusal};

/// The version that the mock tells.
const VERSION: &str = "1.18.0";

#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Mock>);

impl Service {
    /// Carries out a call as far as the faults in force and the caller's key permit.
    async fn answer<Q: Send + 'static, R: Send + 'static>(
        &self,
        call: Call,
        partition: &str,
        request: Request<Q>,
        carry_out: impl FnOnce(&mut Pod, &Q, Nanos) -> Result<R, Refusal> + Send + 'static,
    ) -> Result<Response<R>, Status> {
        // Created before `arrived` reads the faults, so that it does not miss their clearing.
        let cleared = Arc::clone(&self.0.cleared).notified_owned();
        let fate = self.0.arrived(call, partition);
        let delay = fate.delay;
        let answer = self.clone().carry_out(call, request, (fate, cleared), carry_out);
        if delay.is_zero() {
            return answer.await;
        }
        // A task of its own: the call takes effect even if the client stops waiting.
        let late = tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            answer.await
        });
        late.await.unwrap_or_else(|broken| Err(Status::internal(broken.to_string())))
    }

    async fn carry_out<Q, R>(
        self,
        call: Call,
        request: Request<Q>,
        (fate, cleared): (CallFate, OwnedNotified),
        carry_out: impl FnOnce(&mut Pod, &Q, Nanos) -> Result<R, Refusal>,
    ) -> Result<Response<R>, Status> {
        let cut = request.extensions().get::<CancellationToken>().cloned();
        let known = access::check(&self.0.users, request.metadata());
        let request = request.into_inner();
        match &fate.end {
            Some(Effect::Reject { code, text, .. }) => return Err(Status::new(code.0, text)),
            Some(Effect::Hang { .. }) => return std::future::pending().await,
            _ => {}
        }
        known?;
        let answer = if changes(call) {
            self.0.change(|pod, now| carry_out(pod, &request, now))
        } else {
            self.0.look(|pod, now| carry_out(pod, &request, now))
        };
        match (fate.end, cut) {
            (Some(Effect::LostReply { .. }), Some(cut)) => {
                cut.cancel();
                return std::future::pending().await;
            }
            (Some(Effect::HeldReply { .. }), _) => cleared.await,
            _ => {}
        }
        Ok(Response::new(answer?))
    }
}

fn changes(call: Call) -> bool {
    matches!(call, Call::CreatePartition | Call::RemovePartition | Call::ResetPartition)
}

/// Implements the methods. Each has its call, the partition that it concerns, and its function.
macro_rules! methods {
    ($($method:ident($request:ident) -> $reply:ident: $call:ident, $partition:expr, $carry_out:expr;)+) => {
        #[tonic::async_trait]
        impl UserService for Service {
            $(async fn $method(&self, request: Request<$request>) -> Result<Response<$reply>, Status> {
                let partition: fn(&$request) -> &str = $partition;
                let id = partition(request.get_ref()).to_owned();
                let carry_out: fn(&mut Pod, &$request, Nanos) -> Result<$reply, Refusal> = $carry_out;
                self.answer(Call::$call, &id, request, carry_out).await
            })+
        }
    };
}

methods! {
    list_partitions(ListPartitionsRequest) -> ListPartitionsReply: ListPartitions, |_| "",
        |pod, request, now| Ok(ListPartitionsReply { partitions: pod.list(&request.allocation_id, now)? });
    list_ipu_attributes(ListIpuAttributesRequest) -> ListIpuAttributesReply: ListIpuAttributes, |_| "",
        |pod, request, now| Ok(ListIpuAttributesReply { entries: pod.ipu_attributes(&request.agents, now)? });
    create_partition(CreatePartitionRequest) -> CreatePartitionReply: CreatePartition,
        |request| request.requirements.as_ref().map_or("", |wanted| &wanted.id),
        |pod, request, now| Ok(CreatePartitionReply { partition_id: pod.create(request, now)? });
    remove_partition(RemovePartitionRequest) -> RemovePartitionReply: RemovePartition,
        |request| &request.partition_id,
        |pod, request, now| {
            pod.remove(&request.partition_id, request.force, now).map(|()| RemovePartitionReply {})
        };
    reset_partition(ResetPartitionRequest) -> ResetPartitionReply: ResetPartition,
        |request| &request.partition_id,
        |pod, request, now| {
            pod.reset(&request.partition_id, request.relocatable, now).map(|()| ResetPartitionReply {})
        };
    get_partition_ipuof_config(GetPartitionIpuofConfigRequest) -> GetPartitionIpuofConfigReply:
        GetPartitionIpuofConfig, |request| &request.partition_id,
        |pod, request, now| {
            let config = pod.config(&request.partition_id, now)?;
            Ok(GetPartitionIpuofConfigReply { ipuof_config: Some(config) })
        };
    get_partition_status(GetPartitionStatusRequest) -> GetPartitionStatusReply:
        GetPartitionStatus, |request| &request.partition_id,
        |pod, request, now| {
            Ok(GetPartitionStatusReply { status: Some(pod.status(&request.partition_id, now)?) })
        };
}

#[tonic::async_trait]
impl VersionService for Service {
    async fn get_version(&self, request: Request<VersionRequest>) -> Result<Response<VersionReply>, Status> {
        let reply = VersionReply { version: VERSION.to_owned() };
        self.answer(Call::GetVersion, "", request, |_, _, _| Ok(reply)).await
    }
}
