//! The server in this process, and as a program that the control channel steers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mock_vipu::control::{Command as Told, Control};
use mock_vipu::{Effect, Fault, Hardware, Incident, MockServer, Options, Rpc};
use vipu_client::{Call, Client, Endpoint, ErrorClass, ReadyState, Requirements};
use vipu_types::{IpuCount, PartitionId};

/// A limit far above the duration of any step here.
const PATIENT: Duration = Duration::from_secs(30);

fn client_at(address: SocketAddr) -> Client {
    let (host, port) = (address.ip().to_string(), address.port());
    Client::new(Endpoint::plain(host, port, PATIENT)).unwrap()
}

fn wanted(name: &str, size: u64) -> Requirements {
    Requirements::new(PartitionId::new(name).unwrap(), IpuCount::new(size).unwrap())
}

/// The program, which runs until it is dropped.
struct Program {
    child: Child,
    api: SocketAddr,
    control: SocketAddr,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mock-vipu-server"));
        command.args(["--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = |what: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(what).unwrap_or_else(|| panic!("{line}")).parse().unwrap()
        };
        let (api, control) = (told("listening on "), told("control on "));
        Self { child, api, control }
    }

    fn control(&self) -> Control {
        Control::connect(self.control).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn the_program_is_steered_and_reports() {
    let program = Program::start(&["--preset", "pod16", "--create-latency", "0s", "--remove-latency", "0s"]);
    let (client, mut control) = (client_at(program.api), program.control());

    client.create_partition(&wanted("slurm_1", 8)).await.unwrap();
    control.tell(&Told::Inject(Fault::new(Effect::CreateStuck).on("slurm_*").times(1))).unwrap();
    client.create_partition(&wanted("slurm_2", 4)).await.unwrap();
    let foreign = Incident::Foreign { id: "x y".into(), size: 4, first: None };
    control.tell(&Told::Cause(foreign)).unwrap();
    let removed = PartitionId::new("slurm_1").unwrap();
    client.remove_partition(&removed, false).await.unwrap();
    let deadline = Instant::now() + PATIENT;
    while client.partition_status(&removed).await.is_ok_and(|status| status.ready == ReadyState::Removed) {
        assert!(Instant::now() < deadline, "it is still shown");
    }

    let report = control.report().unwrap();
    let present: Vec<_> = report.present().map(|record| record.id.as_str()).collect();
    assert_eq!(present, ["slurm_2", "x y"]);
    assert_eq!(report.calls(Call::CreatePartition), 2);
    assert_eq!(report.ever_double_owned, []);
    let gone = report.partition("slurm_1").unwrap();
    assert_eq!(gone.active, Some(gone.create_request));
    assert_eq!(gone.removed, gone.remove_request.map(|at| at + Duration::from_millis(300)));
    assert_eq!(report.partition("slurm_2").unwrap().active, None);

    let unknown = control.tell(&Told::Cause(Incident::AgentDown { agent: "ag5".into() })).unwrap_err();
    assert!(unknown.to_string().ends_with("says: no agent 'ag5' (NOT_FOUND)"), "{unknown}");
    control.tell(&Told::Refuse).unwrap();
    client.list_partitions(None).await.unwrap_err();
    assert_eq!(client.list_partitions(None).await.unwrap_err().class(), ErrorClass::NotSent);
    control.tell(&Told::Clear).unwrap();
    client.list_partitions(None).await.unwrap();
}

#[tokio::test]
async fn replies_can_be_held_and_garbled() {
    let server = MockServer::start(Options::new(Hardware::preset("pod4").unwrap())).await.unwrap();
    let (client, mock) = (client_at(server.address()), server.mock());
    mock.inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) }));
    let create = tokio::spawn({
        let client = client.clone();
        async move { client.create_partition(&wanted("slurm_1", 4)).await }
    });
    let deadline = Instant::now() + PATIENT;
    while mock.report().partition("slurm_1").is_none() {
        assert!(Instant::now() < deadline, "it was not carried out");
        tokio::task::yield_now().await;
    }
    client.list_partitions(None).await.unwrap();
    assert!(!create.is_finished());
    mock.clear().await;
    create.await.unwrap().unwrap();

    mock.garble();
    assert_eq!(client.list_partitions(None).await.unwrap_err().class(), ErrorClass::Unreachable);
    mock.clear().await;
    client.list_partitions(None).await.unwrap();
}
