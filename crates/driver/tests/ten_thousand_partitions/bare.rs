//! The bare generated client, for comparison.

use mock_vipu::{MockServer, Report};
use tonic::transport::Endpoint;
use vipu_client::Call;
use vipu_client::wire::user_service_client::UserServiceClient;
use vipu_client::wire::{
    GetPartitionStatusRequest, ListIpuAttributesRequest, ListPartitionsRequest, RemovePartitionRequest,
};

use crate::orphans;

/// Makes as many calls of each kind as `report` has.
pub async fn make(server: &MockServer, report: &Report) {
    let address = format!("http://{}", server.address());
    let channel = Endpoint::try_from(address).unwrap().connect().await.unwrap();
    let mut client = UserServiceClient::new(channel).max_decoding_message_size(usize::MAX);
    for _ in 0..report.calls(Call::ListPartitions) {
        client.list_partitions(ListPartitionsRequest::default()).await.unwrap();
    }
    for _ in 0..report.calls(Call::ListIpuAttributes) {
        client.list_ipu_attributes(ListIpuAttributesRequest::default()).await.unwrap();
    }
    let ids: Vec<_> = orphans().map(|claim| claim.partition.to_string()).collect();
    for partition_id in ids.iter().cloned() {
        client.remove_partition(RemovePartitionRequest { partition_id, ..Default::default() }).await.unwrap();
    }
    for (_, partition_id) in (0..report.calls(Call::GetPartitionStatus)).zip(ids.iter().cycle().cloned()) {
        // The answer is an error once the partition is gone.
        let _ = client.get_partition_status(GetPartitionStatusRequest { partition_id }).await;
    }
}
