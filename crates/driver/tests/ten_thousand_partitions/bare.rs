//! Bare calls without the client, for comparison.

use mock_vipu::{MockServer, Report};
use tonic::Request;
use tonic::transport::Endpoint;
use vipu_client::Call;
use vipu_client::wire::{
    GetPartitionStatusReply, GetPartitionStatusRequest, ListIpuAttributesReply, ListIpuAttributesRequest,
    ListPartitionsReply, ListPartitionsRequest, RemovePartitionReply, RemovePartitionRequest, unary,
};

use crate::orphans;

/// Makes as many calls of each kind as `report` has.
pub async fn make(server: &MockServer, report: &Report) {
    let address = format!("http://{}", server.address());
    let channel = Endpoint::try_from(address).unwrap().connect().await.unwrap();
    for _ in 0..report.calls(Call::ListPartitions) {
        let request = Request::new(ListPartitionsRequest::default());
        unary::<_, ListPartitionsReply>(channel.clone(), Call::ListPartitions, request).await.unwrap();
    }
    for _ in 0..report.calls(Call::ListIpuAttributes) {
        let request = Request::new(ListIpuAttributesRequest::default());
        unary::<_, ListIpuAttributesReply>(channel.clone(), Call::ListIpuAttributes, request).await.unwrap();
    }
    let ids: Vec<_> = orphans().map(|claim| claim.partition.to_string()).collect();
    for partition_id in ids.iter().cloned() {
        let request = Request::new(RemovePartitionRequest { partition_id, force: false });
        unary::<_, RemovePartitionReply>(channel.clone(), Call::RemovePartition, request).await.unwrap();
    }
    for (_, partition_id) in (0..report.calls(Call::GetPartitionStatus)).zip(ids.iter().cycle().cloned()) {
        let request = Request::new(GetPartitionStatusRequest { partition_id });
        // The answer is an error once the partition is gone.
        let call = Call::GetPartitionStatus;
        let _ = unary::<_, GetPartitionStatusReply>(channel.clone(), call, request).await;
    }
}
