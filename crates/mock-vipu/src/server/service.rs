//! The API served from a Pod.

use std::sync::Arc;

use tokio::sync::futures::OwnedNotified;
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

use super::Mock;
use super::listener::Cut;
use crate::nanos::Nanos;
use crate::pod::{CallFate, Caller, Refusal};

#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Mock>);

impl Service {
    /// Carries out a call as far as the faults in force and the caller's rights let it.
    async fn answer<Q: Send + 'static, R: Send + 'static>(
        &self,
        call: Call,
        request: Request<Q>,
        partition: impl FnOnce(&Q) -> &str,
        carry_out: impl FnOnce(&mut Caller<'_>, &Q, Nanos) -> Result<R, Refusal> + Send + 'static,
    ) -> Result<Response<R>, Status> {
        // Before the faults are looked at: it must not miss that they are cleared.
        let cleared = Arc::clone(&self.0.cleared).notified_owned();
        let fate = self.0.arrived(call, partition(request.get_ref()));
        let delay = fate.delay;
        let answer = self.clone().carry_out(call, request, (fate, cleared), carry_out);
        if delay.is_zero() {
            return answer.await;
        }
        // Who gives up waiting does not take the call back.
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
        carry_out: impl FnOnce(&mut Caller<'_>, &Q, Nanos) -> Result<R, Refusal>,
    ) -> Result<Response<R>, Status> {
        let cut = request.extensions().get::<Cut>().cloned();
        let granted = self.0.users.granted(request.metadata());
        let request = request.into_inner();
        if let Some((code, text)) = fate.rejected {
            return Err(Status::new(code.0, text));
        }
        if fate.hangs {
            return std::future::pending().await;
        }
        let granted = granted?;
        let answer = if changes(call) {
            self.0.change(|pod, now| carry_out(&mut Caller { pod, granted }, &request, now))
        } else {
            self.0.look(|pod, now| carry_out(&mut Caller { pod, granted }, &request, now))
        };
        if fate.reply_lost
            && let Some(cut) = cut
        {
            cut.cut();
            return std::future::pending().await;
        }
        if fate.reply_held {
            cleared.await;
        }
        Ok(Response::new(answer?))
    }
}

fn changes(call: Call) -> bool {
    matches!(call, Call::CreatePartition | Call::RemovePartition | Call::ResetPartition)
}

#[tonic::async_trait]
impl UserService for Service {
    async fn list_partitions(
        &self,
        request: Request<ListPartitionsRequest>,
    ) -> Result<Response<ListPartitionsReply>, Status> {
        self.answer(
            Call::ListPartitions,
            request,
            |_| "",
            |pod, request, now| {
                Ok(ListPartitionsReply { partitions: pod.list(&request.allocation_id, now)? })
            },
        )
        .await
    }

    async fn list_ipu_attributes(
        &self,
        request: Request<ListIpuAttributesRequest>,
    ) -> Result<Response<ListIpuAttributesReply>, Status> {
        self.answer(
            Call::ListIpuAttributes,
            request,
            |_| "",
            |pod, request, now| {
                Ok(ListIpuAttributesReply { entries: pod.ipu_attributes(&request.agents, now)? })
            },
        )
        .await
    }

    async fn create_partition(
        &self,
        request: Request<CreatePartitionRequest>,
    ) -> Result<Response<CreatePartitionReply>, Status> {
        fn id(request: &CreatePartitionRequest) -> &str {
            request.requirements.as_ref().map_or("", |wanted| &wanted.id)
        }
        self.answer(Call::CreatePartition, request, id, |pod, request, now| {
            Ok(CreatePartitionReply { partition_id: pod.create(request, now)? })
        })
        .await
    }

    async fn remove_partition(
        &self,
        request: Request<RemovePartitionRequest>,
    ) -> Result<Response<RemovePartitionReply>, Status> {
        self.answer(
            Call::RemovePartition,
            request,
            |request| &request.partition_id,
            |pod, request, now| {
                pod.remove(&request.partition_id, request.force, now).map(|()| RemovePartitionReply {})
            },
        )
        .await
    }

    async fn reset_partition(
        &self,
        request: Request<ResetPartitionRequest>,
    ) -> Result<Response<ResetPartitionReply>, Status> {
        self.answer(
            Call::ResetPartition,
            request,
            |request| &request.partition_id,
            |pod, request, now| {
                pod.reset(&request.partition_id, request.relocatable, now).map(|()| ResetPartitionReply {})
            },
        )
        .await
    }

    async fn get_partition_ipuof_config(
        &self,
        request: Request<GetPartitionIpuofConfigRequest>,
    ) -> Result<Response<GetPartitionIpuofConfigReply>, Status> {
        let call = Call::GetPartitionIpuofConfig;
        self.answer(
            call,
            request,
            |request| &request.partition_id,
            |pod, request, now| {
                let gcd = request.gcd_id.map(|gcd| gcd.id);
                let config = pod.config(&request.partition_id, gcd, now)?;
                Ok(GetPartitionIpuofConfigReply { ipuof_config: Some(config) })
            },
        )
        .await
    }

    async fn get_partition_status(
        &self,
        request: Request<GetPartitionStatusRequest>,
    ) -> Result<Response<GetPartitionStatusReply>, Status> {
        self.answer(
            Call::GetPartitionStatus,
            request,
            |request| &request.partition_id,
            |pod, request, now| {
                Ok(GetPartitionStatusReply { status: Some(pod.status(&request.partition_id, now)?) })
            },
        )
        .await
    }
}

#[tonic::async_trait]
impl VersionService for Service {
    async fn get_version(&self, request: Request<VersionRequest>) -> Result<Response<VersionReply>, Status> {
        self.answer(
            Call::GetVersion,
            request,
            |_| "",
            |pod, _, _| Ok(VersionReply { version: pod.version() }),
        )
        .await
    }
}
