//! The user API, served from a Pod.

use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use prost::Message;
use tokio_util::sync::CancellationToken;
use tonic::server::Grpc;
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;
use vipu_client::Call;
use vipu_client::wire::{
    CreatePartitionReply, CreatePartitionRequest, GetPartitionIpuofConfigReply,
    GetPartitionIpuofConfigRequest, GetPartitionStatusReply, GetPartitionStatusRequest,
    ListIpuAttributesReply, ListIpuAttributesRequest, ListPartitionsReply, ListPartitionsRequest,
    RemovePartitionReply, RemovePartitionRequest, ResetPartitionReply, ResetPartitionRequest, VersionReply,
    VersionRequest,
};

use super::{Mock, access};
use crate::pod::{CallFate, Effect, Nanos, Pod, Refusal, VERSION};

type CarryOut<Q, R> = fn(&mut Pod, &Q, Nanos) -> Result<R, Refusal>;

/// Returns the methods of the API. Each has its call, the partition that it concerns, and its function.
pub(crate) fn routes(mock: Arc<Mock>) -> Routes {
    // The default routes answer unknown methods with UNIMPLEMENTED.
    let methods = Methods { mock, router: Routes::default().into_axum_router() }
        .add(
            Call::ListPartitions,
            |_: &ListPartitionsRequest| "",
            |pod, request, now| {
                Ok(ListPartitionsReply { partitions: pod.list(&request.allocation_id, now)? })
            },
        )
        .add(
            Call::ListIpuAttributes,
            |_: &ListIpuAttributesRequest| "",
            |pod, request, now| {
                Ok(ListIpuAttributesReply { entries: pod.ipu_attributes(&request.agents, now)? })
            },
        )
        .add(
            Call::CreatePartition,
            |request: &CreatePartitionRequest| request.requirements.as_ref().map_or("", |wanted| &wanted.id),
            |pod, request, now| Ok(CreatePartitionReply { partition_id: pod.create(request, now)? }),
        )
        .add(
            Call::RemovePartition,
            |request: &RemovePartitionRequest| &request.partition_id,
            |pod, request, now| {
                pod.remove(&request.partition_id, request.force, now).map(|()| RemovePartitionReply {})
            },
        )
        .add(
            Call::ResetPartition,
            |request: &ResetPartitionRequest| &request.partition_id,
            |pod, request, now| {
                pod.reset(&request.partition_id, request.relocatable, now).map(|()| ResetPartitionReply {})
            },
        )
        .add(
            Call::GetPartitionIpuofConfig,
            |request: &GetPartitionIpuofConfigRequest| &request.partition_id,
            |pod, request, now| {
                let config = pod.config(&request.partition_id, now)?;
                Ok(GetPartitionIpuofConfigReply { ipuof_config: Some(config) })
            },
        )
        .add(
            Call::GetPartitionStatus,
            |request: &GetPartitionStatusRequest| &request.partition_id,
            |pod, request, now| {
                Ok(GetPartitionStatusReply { status: Some(pod.status(&request.partition_id, now)?) })
            },
        )
        .add(
            Call::GetVersion,
            |_: &VersionRequest| "",
            |_, _, _| Ok(VersionReply { version: VERSION.to_owned() }),
        );
    methods.router.into()
}

struct Methods {
    mock: Arc<Mock>,
    router: Router,
}

impl Methods {
    fn add<Q, R>(self, call: Call, partition: fn(&Q) -> &str, carry_out: CarryOut<Q, R>) -> Self
    where
        Q: Message + Default + 'static,
        R: Message + 'static,
    {
        let mock = Arc::clone(&self.mock);
        let method =
            service_fn(move |request| answer(Arc::clone(&mock), call, partition, carry_out, request));
        let serve = move |request: axum::extract::Request| async move {
            Grpc::new(ProstCodec::default()).unary(method, request).await
        };
        Self { router: self.router.route(call.path(), any(serve)), ..self }
    }
}

/// Carries out a call as far as the faults in force and the caller's key permit.
async fn answer<Q: Message + 'static, R: Message + 'static>(
    mock: Arc<Mock>,
    call: Call,
    partition: fn(&Q) -> &str,
    carry_out: CarryOut<Q, R>,
    request: Request<Q>,
) -> Result<Response<R>, Status> {
    // Created before `arrived` reads the faults, so that it does not miss their clearing.
    let cleared = Arc::clone(&mock.cleared).notified_owned();
    let CallFate { delay, end } = mock.arrived(call, partition(request.get_ref()));
    let answer = async move {
        match &end {
            Some(Effect::Reject { code, text, .. }) => return Err(Status::new(code.0, text)),
            Some(Effect::Hang { .. }) => return std::future::pending().await,
            _ => access::check(&mock.users, request.metadata())?,
        }
        let carry_out = |pod: &mut Pod, now| carry_out(pod, request.get_ref(), now);
        let answer = if changes(call) { mock.change(carry_out) } else { mock.look(carry_out) };
        match (end, request.extensions().get::<CancellationToken>()) {
            (Some(Effect::LostReply { .. }), Some(cut)) => {
                cut.cancel();
                return std::future::pending().await;
            }
            (Some(Effect::HeldReply { .. }), _) => cleared.await,
            _ => {}
        }
        Ok(Response::new(answer?))
    };
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

fn changes(call: Call) -> bool {
    matches!(call, Call::CreatePartition | Call::RemovePartition | Call::ResetPartition)
}
