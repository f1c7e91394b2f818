//! `svipu conf generate`, with controllers in this process.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use mock_vipu::{Hardware, Incident, MockServer, Options};
use tokio::runtime::Runtime;

use super::conf::Site;

/// Controllers, and a folder for files.
struct Pods {
    servers: Vec<MockServer>,
    site: Site,
    // Stops after the servers.
    runtime: Runtime,
}

impl Pods {
    fn new(pods: &[&str]) -> Self {
        let runtime = Runtime::new().unwrap();
        let start = |pod: &&str| {
            let options = Options::new(Hardware::preset(pod).unwrap());
            runtime.block_on(MockServer::start(options)).unwrap()
        };
        Self { servers: pods.iter().map(start).collect(), site: Site::new(&[]), runtime }
    }

    /// What a command line prints. In it `pod:0` is the first controller.
    fn run(&self, line: &str) -> String {
        let addresses = self.servers.iter().map(|server| server.address().to_string()).enumerate();
        let names: Vec<_> = addresses.map(|(index, address)| (format!("pod:{index}"), address)).collect();
        let line = names.iter().fold(line.to_owned(), |line, (name, address)| line.replace(name, address));
        let printed = self.site.run(&line);
        names.iter().fold(printed, |text, (name, address)| text.replace(address, name))
    }
}

#[test]
fn cli_conf_generate_prints_the_files() {
    let pods = Pods::new(&["pod16", "pod64"]);
    let mock = pods.servers[1].mock();
    mock.cause(&Incident::IpuFault { agent: "ag2".into(), ipu: 1 }).unwrap();
    mock.cause(&Incident::Foreign { id: "\u{1b}x".into(), size: 4, first: None }).unwrap();
    pods.site.write("access", "api-user-id=alice\napi-access-key=secret-key\n");
    fs::set_permissions(pods.site.path("access"), fs::Permissions::from_mode(0o600)).unwrap();
    let one = pods.run("conf generate --host pod:0");
    let two = pods.run(
        "conf generate --host pod:0 --host pod:1 --model big --nodes n[1-8],m1 --ipuof-dir /s --access-file DIR/access",
    );
    assert!(!two.contains("secret-key"), "{two}");
    assert_snapshot!(one + "\n" + &two);
}

#[test]
fn cli_conf_generate_writes_files_that_pass_the_check() {
    let pods = Pods::new(&["pod64"]);
    let line = "conf generate --host pod:0 --output DIR/new";
    let written = pods.run(line) + &pods.run(line);
    let slurm_conf = fs::read_to_string(pods.site.path("new/slurm.conf.add")).unwrap();
    pods.site.write("slurm.conf", &slurm_conf);
    fs::copy(pods.site.path("new/vipu.conf"), pods.site.path("vipu.conf")).unwrap();
    assert_snapshot!(written + &pods.run("conf check") + &pods.run("conf check DIR/new/vipu.conf"));
}

#[test]
fn cli_conf_generate_errors() {
    let pods = Pods::new(&["pod4"]);
    pods.runtime.block_on(pods.servers[0].mock().refuse());
    let lines = [
        "conf generate --host a/b",
        "conf generate --host pod:0 --nodes n[1",
        "conf generate --host pod:0 --nodes n1\"x",
        "conf generate --host pod:0 --ipuof-dir relative",
        "conf generate --host pod:0 --ipuof-dir /a#b",
        "conf generate --host pod:0 --model 4pod",
        "conf generate --host pod:0 --access-file DIR/none",
        "conf generate --host pod:0",
    ];
    assert_snapshot!(lines.map(|line| pods.run(line)).concat());
}
