//! Users with access keys, each within the allocations granted, called by tonic's own client.

use std::net::SocketAddr;
use std::time::Duration;

use mock_vipu::{
    Allocation, Allocations, BadUser, Hardware, Incident, MockServer, Options, Settings, StartError, User,
};
use tonic::metadata::AsciiMetadataValue;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use vipu_client::ErrorClass;
use vipu_client::wire::user_service_client::UserServiceClient;
use vipu_client::wire::{
    CreatePartitionRequest, GetPartitionIpuofConfigRequest, GetPartitionStatusRequest,
    ListIpuAttributesRequest, ListPartitionsRequest, PartitionIpu, PartitionRequirements,
    RemovePartitionRequest, ResetPartitionRequest,
};

use super::{Program, client_at, refused_start};

/// The user id and the access key.
#[derive(Clone)]
struct Credentials(AsciiMetadataValue, AsciiMetadataValue);

impl tonic::service::Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("api-user-id", self.0.clone());
        request.metadata_mut().insert("api-access-key", self.1.clone());
        Ok(request)
    }
}

type Api = UserServiceClient<InterceptedService<Channel, Credentials>>;

fn api(address: SocketAddr, name: &str, key: &str) -> Api {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let credentials = Credentials(name.parse().unwrap(), key.parse().unwrap());
    UserServiceClient::with_interceptor(channel, credentials)
}

fn code<T>(answer: Result<Response<T>, Status>) -> Code {
    answer.err().map_or(Code::Ok, |status| status.code())
}

fn wanted(id: &str, size: u32) -> PartitionRequirements {
    PartitionRequirements { id: id.to_owned(), size, ..PartitionRequirements::default() }
}

async fn create(api: &mut Api, requirements: PartitionRequirements, relocatable: bool) -> Code {
    let requirements = Some(requirements);
    code(api.create_partition(CreatePartitionRequest { requirements, relocatable, ..<_>::default() }).await)
}

async fn listed(api: &mut Api) -> Vec<String> {
    let reply = api.list_partitions(ListPartitionsRequest::default()).await.unwrap().into_inner();
    reply.partitions.into_iter().map(|partition| partition.id).collect()
}

async fn agents(api: &mut Api) -> Vec<String> {
    let reply = api.list_ipu_attributes(ListIpuAttributesRequest::default()).await.unwrap().into_inner();
    reply.entries.into_iter().map(|entry| entry.agent).collect()
}

fn user(name: &str, allocations: Allocations) -> User {
    User { name: name.to_owned(), key: format!("{name}-key"), allocations }
}

fn only(name: &str) -> Allocations {
    Allocations::Only([name.to_owned()].into())
}

/// 16 IPUs, half of them in `a`, half in `b`; nothing takes time.
async fn server(users: Vec<User>) -> Result<MockServer, StartError> {
    let allocation = |name: &str, agents| Allocation { name: name.to_owned(), agents };
    let hardware = Hardware {
        allocations: vec![allocation("a", 0..=1), allocation("b", 2..=3)],
        ..Hardware::preset("pod16").unwrap()
    };
    let now = Duration::ZERO;
    let settings = Settings { create: now, remove: now, ..Settings::default() };
    MockServer::start(Options { settings, users, ..Options::new(hardware) }).await
}

/// Of Alice, Bob and Root.
async fn server_and_clients() -> (MockServer, [Api; 3]) {
    let users = vec![user("alice", only("a")), user("bob", only("b")), user("root", Allocations::All)];
    let server = server(users).await.unwrap();
    let clients = ["alice", "bob", "root"].map(|name| api(server.address(), name, &format!("{name}-key")));
    (server, clients)
}

#[tokio::test]
async fn strangers_are_not_served() {
    let (server, _) = server_and_clients().await;
    let nobody = client_at(server.address());
    assert_eq!(nobody.list_partitions(None).await.unwrap_err().code(), Some(Code::Unauthenticated));
    assert_eq!(nobody.version().await.unwrap_err().class(), ErrorClass::Stranger);
    for (name, key) in [("alice", "wrong"), ("alice", "bob-key"), ("alice", ""), ("carol", "alice-key")] {
        let mut stranger = api(server.address(), name, key);
        let refused = create(&mut stranger, wanted("p", 1), false).await;
        assert_eq!(refused, Code::Unauthenticated, "{name} {key}");
    }
    assert_eq!(server.mock().report().partitions, []);
}

#[tokio::test]
async fn without_users_everybody_is_served() {
    let server = server(Vec::new()).await.unwrap();
    let mut anybody = api(server.address(), "carol", "key");
    assert_eq!(create(&mut anybody, wanted("p", 4), false).await, Code::Ok);
    assert_eq!(client_at(server.address()).list_ipus(&[]).await.unwrap().len(), 16);
}

#[tokio::test]
async fn what_is_not_granted_is_denied() {
    let (_server, [mut alice, mut bob, _]) = server_and_clients().await;
    assert_eq!(create(&mut bob, wanted("bobs", 4), false).await, Code::Ok);

    let in_b = PartitionRequirements { allocation_id: "b".into(), ..wanted("p", 1) };
    assert_eq!(create(&mut alice, in_b, false).await, Code::PermissionDenied);
    let ipu = PartitionIpu { topology_id: 12, ..PartitionIpu::default() };
    let chosen = PartitionRequirements { cluster_id: "pod16".into(), ipus: vec![ipu], ..wanted("p", 1) };
    assert_eq!(create(&mut alice, chosen, false).await, Code::PermissionDenied);

    let partition_id = || "bobs".to_owned();
    let status = GetPartitionStatusRequest { partition_id: partition_id() };
    assert_eq!(code(alice.get_partition_status(status).await), Code::PermissionDenied);
    let config = GetPartitionIpuofConfigRequest { partition_id: partition_id(), gcd_id: None };
    assert_eq!(code(alice.get_partition_ipuof_config(config).await), Code::PermissionDenied);
    let reset = ResetPartitionRequest { partition_id: partition_id(), relocatable: false };
    assert_eq!(code(alice.reset_partition(reset).await), Code::PermissionDenied);
    let remove = RemovePartitionRequest { partition_id: partition_id(), force: true };
    assert_eq!(code(alice.remove_partition(remove.clone()).await), Code::PermissionDenied);
    let list = ListPartitionsRequest { allocation_id: "b".into() };
    assert_eq!(code(alice.list_partitions(list).await), Code::PermissionDenied);
    let attributes = ListIpuAttributesRequest { agents: vec!["ag1".into(), "ag3".into()] };
    assert_eq!(code(alice.list_ipu_attributes(attributes).await), Code::PermissionDenied);

    let nothing = GetPartitionStatusRequest { partition_id: "none".into() };
    assert_eq!(code(alice.get_partition_status(nothing).await), Code::NotFound);
    assert_eq!(create(&mut alice, wanted("bobs", 1), false).await, Code::AlreadyExists);
    assert_eq!(code(bob.remove_partition(remove).await), Code::Ok);
}

#[tokio::test]
async fn lists_show_what_is_granted() {
    let (_server, [mut alice, mut bob, mut root]) = server_and_clients().await;
    assert_eq!(create(&mut alice, wanted("alices", 2), false).await, Code::Ok);
    assert_eq!(create(&mut bob, wanted("bobs", 2), false).await, Code::Ok);
    assert_eq!(listed(&mut alice).await, ["alices"]);
    assert_eq!(listed(&mut bob).await, ["bobs"]);
    assert_eq!(listed(&mut root).await, ["alices", "bobs"]);
    assert_eq!(agents(&mut alice).await, ["ag1", "ag2"]);
    assert_eq!(agents(&mut bob).await, ["ag3", "ag4"]);
    assert_eq!(agents(&mut root).await, ["ag1", "ag2", "ag3", "ag4"]);
}

#[tokio::test]
async fn partitions_stay_where_their_user_may_be() {
    let (server, [mut alice, _, mut root]) = server_and_clients().await;
    assert_eq!(create(&mut alice, wanted("alices", 8), true).await, Code::Ok);
    assert_eq!(create(&mut alice, wanted("more", 8), true).await, Code::ResourceExhausted, "b is free");
    server.mock().cause(&Incident::AgentDown { agent: "ag1".into() }).unwrap();
    assert_eq!(server.mock().report().partition("alices").unwrap().tenures.len(), 1, "not relocated to b");
    assert_eq!(create(&mut root, wanted("roots", 8), false).await, Code::Ok);
}

#[tokio::test]
async fn the_program_takes_users() {
    let allocations =
        ["--preset", "pod16", "--allocation", "a=1", "--allocation", "b=2-3", "--allocation", "c=4"];
    let users = ["--user", "alice:key1:a,c", "--user", "root:key2"];
    let program = Program::start(&[&allocations[..], &users].concat());
    assert_eq!(agents(&mut api(program.api, "alice", "key1")).await, ["ag1", "ag4"]);
    assert_eq!(agents(&mut api(program.api, "root", "key2")).await, ["ag1", "ag2", "ag3", "ag4"]);
    let refused = client_at(program.api).version().await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Unauthenticated));

    let words = refused_start(&["--user", "alice"]);
    assert!(words.contains("NAME:KEY"), "{words}");
    let words = refused_start(&["--user", "alice:key:none"]);
    assert!(words.contains("user 'alice' is granted allocation 'none'"), "{words}");
}

#[tokio::test]
async fn impossible_users_are_refused() {
    let twice = server(vec![user("alice", only("a")), user("alice", only("b"))]).await;
    assert!(matches!(twice, Err(StartError::Users(BadUser::Name(name))) if name == "alice"));
    let nowhere = server(vec![user("alice", only("c"))]).await;
    assert!(matches!(nowhere, Err(StartError::Users(BadUser::Allocation { .. }))));
}
