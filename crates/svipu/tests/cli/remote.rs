//! Documents on other hosts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::{fs, thread};

use clap::Parser as _;
use insta::assert_snapshot;
use svipu::Arguments;

use super::documents::pod64;
use super::{run, run_on, surroundings};

/// A server that sends these bytes to each client.
fn server(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1000]);
            // The client closes the connection when it has read enough.
            let _ = stream.write_all(&answer);
        }
    });
    address
}

fn http(code: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {code}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[test]
fn cli_svipu_shows_the_document_of_an_exporter() {
    let address = server(http("200 OK", &pod64().to_json().unwrap()));
    let url = format!("http://{address}/");
    let local = run(&pod64(), "map").stdout;
    assert_eq!(run_on(url.as_ref(), "map", &surroundings(&[])).stdout, local);

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("svipu.toml"), format!("status = \"{url}\"\n")).unwrap();
    let around = surroundings(&[("XDG_CONFIG_HOME", folder.path())]);
    let arguments = Arguments::try_parse_from(["svipu", "map"]).unwrap();
    assert_eq!(svipu::run(&arguments, &around).stdout, local);
}

#[test]
fn cli_svipu_exporters_that_give_no_document() {
    let whole = pod64().to_json().unwrap();
    let error = |url: &str, shown: &str| {
        let output = run_on(url.as_ref(), "queue", &surroundings(&[]));
        assert_eq!((output.exit, &*output.stdout), (1, ""), "{url}");
        output.stderr.replace(url, shown)
    };
    let answers: [(&str, Vec<u8>); 8] = [
        ("half", http("200 OK", &whole[..100])),
        ("broken-off", http("200 OK", &whole)[..500].to_vec()),
        ("huge", http("200 OK", &vec![b' '; (64 << 20) + 1])),
        ("no-exporter", http("404 Not Found", b"")),
        ("elsewhere", http("302 Found", b"")),
        ("unreadable", http("503 Service Unavailable", b"{\"error\":\"cannot read it:\\n\\u001b[2J\"}")),
        ("busy", http("503 Service Unavailable", b"<html>")),
        ("no-http", b"\x1b[2J hello\r\n\r\n".to_vec()),
    ];
    let mut errors: Vec<_> = answers
        .into_iter()
        .map(|(name, answer)| error(&format!("http://{}/", server(answer)), &format!("http://{name}/")))
        .collect();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    errors.push(error(&format!("http://{nobody}/"), "http://nobody/"));
    errors.push(error("https://slurm.example.org:9877/", "https://slurm.example.org:9877/"));
    errors.push(error("http://slurm example/", "http://slurm example/"));
    assert_snapshot!(errors.concat());
}

#[test]
fn cli_svipu_exporter_needs_a_free_address() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_svipu"));
    let output =
        command.args(["exporter", "--status", "/nonexistent", "--listen", &address]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr.replace(&address, "ADDRESS"),
        "svipu: cannot listen on ADDRESS: Address already in use (os error 98): give --listen ADDRESS:PORT\n"
    );
}

#[test]
fn cli_svipu_exporter_starts_before_the_document_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_svipu"));
    command.args(["exporter", "--listen", "127.0.0.1:0", "--status"]).arg(folder.path());
    let mut exporter = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(exporter.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).and_then(|text| text.split('/').next());
    let readable = || {
        let mut stream = TcpStream::connect(address?).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: it\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let value = text.split("\nvipu_status_readable ").nth(1)?;
        value.chars().next()
    };
    let before = readable();
    fs::write(folder.path().join("vipu_status.json"), pod64().to_json().unwrap()).unwrap();
    let after = readable();
    let url = format!("http://{}/", address.unwrap());
    let shown = run_on(url.as_ref(), "map", &surroundings(&[])).stdout;
    exporter.kill().unwrap();
    exporter.wait().unwrap();
    assert_eq!((before, after), (Some('0'), Some('1')), "{line}");
    assert_eq!(shown, run(&pod64().without_owners(), "map").stdout);
}
