//! The server, in this process and as a program, steered through the control channel.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod tls;
mod users;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mock_vipu::control::{Control, ControlError};
use mock_vipu::{Effect, Fault, Hardware, Incident, MockServer, Options, Report, Rpc, Settings};
use vipu_client::{Call, Client, Endpoint, ErrorClass, ReadyState, Requirements};
use vipu_types::{IpuCount, PartitionId};

/// Far more than anything here takes.
const PATIENT: Duration = Duration::from_secs(30);

fn client_at(address: SocketAddr) -> Client {
    let (host, port) = (address.ip().to_string(), address.port());
    Client::new(Endpoint::plain(host, port, PATIENT)).unwrap()
}

fn wanted(name: &str, size: u64) -> Requirements {
    Requirements::new(PartitionId::new(name).unwrap(), IpuCount::new(size).unwrap())
}

/// The program, until it is dropped.
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

/// What the program says that does not start.
fn refused_start(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mock-vipu-server"));
    let refused = command.args(["--listen", "127.0.0.1:0"]).args(arguments).output().unwrap();
    assert!(!refused.status.success(), "{arguments:?}");
    String::from_utf8(refused.stderr).unwrap()
}

#[tokio::test]
async fn the_program_is_steered_and_reports() {
    let program = Program::start(&["--preset", "pod16", "--create-latency", "0s", "--remove-latency", "0s"]);
    let (client, mut control) = (client_at(program.api), program.control());

    client.create_partition(&wanted("slurm_1", 8)).await.unwrap();
    control.inject(Fault::new(Effect::CreateStuck).on("slurm_*").times(1)).unwrap();
    client.create_partition(&wanted("slurm_2", 4)).await.unwrap();
    control.cause(Incident::Foreign { id: "x y".into(), size: 4, first: None }).unwrap();
    let removed = PartitionId::new("slurm_1").unwrap();
    client.remove_partition(&removed, false).await.unwrap();
    let deadline = Instant::now() + PATIENT;
    while client.partition_status(&removed).await.is_ok_and(|status| status.ready == ReadyState::Removed) {
        assert!(Instant::now() < deadline, "it is still shown");
    }

    let report = control.report().unwrap();
    let present: Vec<_> = report.present().map(|record| record.id.as_str()).collect();
    assert_eq!(present, ["slurm_2", "x y"]);
    assert_eq!((report.ipus, report.free_ipus), (16, 8));
    assert_eq!(report.calls(Call::CreatePartition), 2);
    assert_eq!(report.ever_double_owned, []);
    let gone = report.partition("slurm_1").unwrap();
    assert_eq!(gone.active, Some(gone.create_request));
    assert_eq!(gone.removed, gone.remove_request.map(|at| at + Duration::from_millis(300)));
    assert!(report.now.since(gone.create_request) < PATIENT);
    assert_eq!(report.partition("slurm_2").unwrap().active, None);

    let unknown = control.cause(Incident::AgentDown { agent: "ag5".into() }).unwrap_err();
    assert!(matches!(&unknown, ControlError::Refused { text, .. } if text.contains("ag5")), "{unknown}");
    control.refuse().unwrap();
    client.version().await.unwrap_err();
    assert_eq!(client.version().await.unwrap_err().class(), ErrorClass::NotSent);
    control.clear().unwrap();
    client.version().await.unwrap();
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
    client.version().await.unwrap();
    assert!(!create.is_finished());
    mock.clear().await;
    create.await.unwrap().unwrap();

    mock.garble();
    assert_eq!(client.version().await.unwrap_err().class(), ErrorClass::Unreachable);
    mock.clear().await;
    client.version().await.unwrap();
}

#[tokio::test]
async fn any_language_can_steer() {
    let server = MockServer::start(Options::new(Hardware::preset("pod4").unwrap())).await.unwrap();
    let address = server.serve_control(([127, 0, 0, 1], 0).into()).await.unwrap();
    let answers = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let lines = [
            r#"{"inject": {"effect": {"hang": {"rpc": "GetVersion"}}, "count": 1}}"#,
            r#"{"inject": {"effect": "no-such-effect"}}"#,
            r#""report""#,
        ];
        stream.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
        BufReader::new(stream).lines().take(lines.len()).map(Result::unwrap).collect::<Vec<_>>()
    });
    let answers = answers.await.unwrap();
    assert_eq!(answers[0], r#""done""#);
    assert!(answers[1].starts_with(r#"{"error":"unknown variant `no-such-effect`"#), "{}", answers[1]);
    assert!(answers[2].starts_with(r#"{"report":{"now":"#), "{}", answers[2]);
}

#[tokio::test]
async fn a_killed_server_goes_on_from_its_state_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let arguments = ["--state-file", file.to_str().unwrap(), "--create-latency", "3600s"];
    let earlier = Program::start(&arguments);
    let mut report: Report = {
        client_at(earlier.api).create_partition(&wanted("p", 16)).await.unwrap();
        earlier.control().cause(Incident::AgentDown { agent: "ag16".into() }).unwrap();
        earlier.control().report().unwrap()
    };
    drop(earlier);

    let later = Program::start(&arguments);
    let client = client_at(later.api);
    let status = client.partition_status(&PartitionId::new("p").unwrap()).await.unwrap();
    assert_eq!(status.ready, ReadyState::Pending);
    assert_eq!(client.list_ipus(&[]).await.unwrap().iter().filter(|ipu| ipu.fault().is_some()).count(), 4);
    let recalled = later.control().report().unwrap();
    (report.now, report.rpcs) = (recalled.now, recalled.rpcs.clone());
    assert_eq!(recalled, report);
    drop(later);

    let words = refused_start(&[&["--preset", "pod4"][..], &arguments].concat());
    assert!(words.contains("belongs to other hardware"), "{words}");
}

#[tokio::test]
async fn a_dropped_server_lets_go_of_everything() {
    let server = MockServer::start(Options::new(Hardware::preset("pod4").unwrap())).await.unwrap();
    let address = server.address();
    let client = client_at(address);
    client.version().await.unwrap();
    drop(server);
    let deadline = Instant::now() + PATIENT;
    let again = Options { listen: address, ..Options::new(Hardware::preset("pod4").unwrap()) };
    while MockServer::start(again.clone()).await.is_err() {
        assert!(Instant::now() < deadline, "the port is still taken");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn time_can_stand_still() {
    let settings = Settings { create: Duration::from_secs(3600), ..Settings::default() };
    let options = Options { settings, ..Options::new(Hardware::preset("pod64").unwrap()) };
    let server = MockServer::start(options).await.unwrap();
    let client = client_at(server.address());
    client.create_partition(&wanted("p", 64)).await.unwrap();
    let ready = async || client.partition_status(&PartitionId::new("p").unwrap()).await.unwrap().ready;
    assert_eq!(ready().await, ReadyState::Pending);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600)).await;
    tokio::time::resume();
    assert_eq!(ready().await, ReadyState::Active);
    let report = server.mock().report();
    let record = report.partition("p").unwrap();
    assert_eq!(record.active.unwrap().since(record.create_request), Duration::from_secs(3600));
}

/// The largest system, well used; the limits are ten times what an idle small machine needs for
/// unoptimised code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_partitions_are_handled_at_ease() {
    let settings = Settings { create: Duration::ZERO, ..Settings::default() };
    let options = Options { settings, ..Options::new(Hardware::new(65_536)) };
    let server = MockServer::start(options).await.unwrap();
    let client = client_at(server.address());
    for n in 0..10_000 {
        server.mock().cause(&Incident::Foreign { id: format!("p{n}"), size: 4, first: None }).unwrap();
    }
    let took = |since: Instant| since.elapsed().as_millis();
    let asked = Instant::now();
    assert_eq!(client.list_partitions(None).await.unwrap().len(), 10_000);
    let listing = took(asked);
    let asked = Instant::now();
    assert_eq!(client.list_ipus(&[]).await.unwrap().len(), 65_536);
    let attributes = took(asked);
    let asked = Instant::now();
    client.create_partition(&wanted("q", 64)).await.unwrap();
    let creating = took(asked);
    println!("list {listing} ms, attributes {attributes} ms, create {creating} ms");
    assert!(listing < 2_000, "{listing} ms");
    assert!(attributes < 30_000, "{attributes} ms");
    assert!(creating < 500, "{creating} ms");
}
