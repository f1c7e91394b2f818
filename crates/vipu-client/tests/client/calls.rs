//! One test for each call.

use mock_vipu::{Effect, Fault, Incident, Rpc, StatusCode};
use vipu_client::{Call, ErrorClass, OperationState, ReadyState};
use vipu_types::{Place, Shape};

use super::*;

#[tokio::test]
async fn create_sends_all_requirements() {
    let (_server, client) = pod64_and_client().await;
    let place = |index| Place { domain: 0, index };
    let requirements = Requirements {
        allocation: Some("default".into()),
        cluster: Some("pod64".into()),
        ipus: (8..16).map(place).collect(),
        shape: Shape { gcds: 2, replicas: Some(4), ..Shape::OPEN },
        ..wanted("p", 8)
    };
    client.create_partition(&requirements).await.unwrap();
    let listed = client.list_partitions(None).await.unwrap().remove(0);
    assert_eq!(listed.id, "p");
    assert_eq!(listed.places, requirements.ipus);
    assert_eq!((listed.num_gcds, listed.num_replicas, listed.reconfigurable), (2, 4, false));
}

#[tokio::test]
async fn remove_passes_force_on() {
    let (server, client) = pod64_and_client().await;
    server.mock().inject(Fault::new(Effect::RemoveStuck));
    client.create_partition(&wanted("p", 4)).await.unwrap();
    client.remove_partition(&id("p"), false).await.unwrap();
    assert_eq!(client.partition_status(&id("p")).await.unwrap().operation, OperationState::Removing);
    client.remove_partition(&id("p"), true).await.unwrap();
    assert_eq!(client.partition_status(&id("p")).await.unwrap().ready, ReadyState::Removed);
}

#[tokio::test]
async fn reset_mends_a_partition_unless_it_fails() {
    let (server, client) = pod64_and_client().await;
    client.create_partition(&wanted("p", 4)).await.unwrap();
    server.mock().inject(Fault::new(Effect::ResetError { text: "link".into() }).times(1));
    client.reset_partition(&id("p")).await.unwrap();
    assert_eq!(client.partition_status(&id("p")).await.unwrap().errors, ["link"]);
    client.reset_partition(&id("p")).await.unwrap();
    assert_eq!(client.partition_status(&id("p")).await.unwrap().ready, ReadyState::Active);
    let error = client.reset_partition(&id("q")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn status_tells_states_and_errors() {
    let (server, client) = pod64_and_client().await;
    client.create_partition(&wanted("p", 4)).await.unwrap();
    let sound = client.partition_status(&id("p")).await.unwrap();
    assert_eq!((sound.ready, sound.operation), (ReadyState::Active, OperationState::Idle));
    server.mock().cause(&Incident::AgentDown { agent: "ag1".into() }).unwrap();
    let broken = client.partition_status(&id("p")).await.unwrap();
    assert_eq!((broken.ready, broken.operation), (ReadyState::Error, OperationState::Failed));
    assert_eq!(broken.errors, ["agent ag1 is unreachable"]);
}

#[tokio::test]
async fn config_has_all_gcds_with_their_devices() {
    let (_server, client) = pod64_and_client().await;
    client.create_partition(&wanted("other", 4)).await.unwrap();
    let shape = Shape { gcds: 2, ..Shape::OPEN };
    client.create_partition(&Requirements { shape, ..wanted("p", 8) }).await.unwrap();
    let gcds = client.partition_config(&id("p")).await.unwrap();
    assert_eq!(gcds.iter().map(|gcd| gcd.devices.len()).collect::<Vec<_>>(), [4, 4]);
    let second = &gcds[1];
    assert_eq!(second.attributes["GCD Id"], "1");
    let device = &second.devices[0];
    assert_eq!((device.ip.as_str(), device.server_port, device.rdma_port), ("10.1.5.4", 50_052, 10_000));
    assert_eq!((device.routing_id, device.ipu_id, device.chip_id.as_str()), (4, 3, "mock-3-3"));
}

#[tokio::test]
async fn partitions_of_others_are_listed_by_any_name() {
    let (server, client) = pod64_and_client().await;
    let name = "not a name of ours ".repeat(3);
    server.mock().cause(&Incident::Foreign { id: name.clone(), size: 2, first: Some(62) }).unwrap();
    let listed = client.list_partitions(Some("default")).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].id, listed[0].ready), (&name, ReadyState::Active));
    assert_eq!(listed[0].places, [62, 63].map(|index| Place { domain: 0, index }));
    assert_eq!((listed[0].cluster.as_str(), listed[0].allocation.as_str()), ("pod64", "default"));
}

#[tokio::test]
async fn ipus_are_listed_with_their_faults_and_owners() {
    let (server, client) = pod64_and_client().await;
    server.mock().cause(&Incident::AgentDown { agent: "ag2".into() }).unwrap();
    server.mock().cause(&Incident::IpuFault { agent: "ag3".into(), ipu: 1 }).unwrap();
    client.create_partition(&wanted("p", 2)).await.unwrap();
    let all = client.list_ipus(&[]).await.unwrap();
    assert_eq!(all.len(), 64);
    let faulty: Vec<_> = all.iter().filter_map(|ipu| Some((ipu.agent.as_str(), ipu.fault()?))).collect();
    assert_eq!(faulty[..4], [("ag2", "agent unreachable"); 4]);
    assert_eq!(faulty[4..], [("ag3", "hardware error")]);
    let owned = all.iter().filter(|ipu| ipu.attributes.contains_key("ipuof partition id"));
    assert_eq!(
        owned.map(|ipu| (ipu.agent.as_str(), ipu.hardware_id)).collect::<Vec<_>>(),
        [("ag1", 2), ("ag1", 3)]
    );
    let some = client.list_ipus(&["ag16".to_owned()]).await.unwrap();
    assert_eq!(some.iter().map(|ipu| ipu.hardware_id).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[tokio::test]
async fn cli_status_a_controller_tells_its_version_or_not() {
    let (server, client) = pod64_and_client().await;
    assert_eq!(client.version().await.unwrap(), "1.18.0");
    let code = StatusCode(tonic::Code::Unimplemented);
    let unknown = Effect::Reject { rpc: Some(Rpc(Call::GetVersion)), code, text: "unknown service".into() };
    server.mock().inject(Fault::new(unknown));
    assert!(client.version().await.unwrap_err().to_string().contains("get version: unknown service"));
}
