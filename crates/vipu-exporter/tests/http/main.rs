//! Asks a running exporter, politely and otherwise.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attacks;
mod requests;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::SystemTime;

use tempfile::TempDir;
use vipu_status::{Contact, Ipus, Job, Limits, Model, Partition, Place, Pod, SCHEMA, State, Status};
use vipu_types::{Words, words};

/// An exporter that serves until the tests end.
struct Exporter {
    address: SocketAddr,
    folder: TempDir,
}

impl Exporter {
    /// An exporter without a document.
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ready, address) = mpsc::channel();
        let path = folder.path().join("vipu_status.json");
        thread::spawn(move || {
            let read = move || {
                let text = fs::read(&path).map_err(|why| words!("cannot read it: {why}"))?;
                Status::parse(&text).map_err(Words::of)
            };
            vipu_exporter::run(([127, 0, 0, 1], 0).into(), read, |address| ready.send(address).unwrap())
        });
        Self { address: address.recv().unwrap(), folder }
    }

    fn write(&self, document: &[u8]) {
        let path = self.folder.path().join("vipu_status.json");
        fs::write(path.with_extension("new"), document).unwrap();
        fs::rename(path.with_extension("new"), path).unwrap();
    }

    fn serve(status: &Status) -> Self {
        let exporter = Self::start();
        exporter.write(&status.to_json().unwrap());
        exporter
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: it\r\n\r\n"))
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: it\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// Sends bytes, and reads to the end of the connection.
    fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    }
}

/// The answer to one request.
#[derive(Debug)]
struct Answer {
    code: u16,
    head: String,
    body: String,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Self { code, head: head.to_lowercase(), body: body.to_owned() }
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64
}

/// 32 IPUs, of which a job has four.
fn pod32() -> Status {
    let pod = Pod {
        controller: "vipu:8090".into(),
        contact: Contact::Reached { since: 0 },
        ipus: Ipus { total: 32, free: 28, used: 4, ..Ipus::default() },
        largest_free: 16,
        ..Pod::default()
    };
    let model = Model {
        name: "pod32".into(),
        pods: vec![pod],
        largest_now: 16,
        domain_size: 64,
        limits: Limits { job: 32, ..Limits::default() },
        ..Model::default()
    };
    let partition = Partition {
        key: 1,
        id: Some("slurm_4711".into()),
        job: Some(Job { id: 4711, ..Job::default() }.into()),
        model: "pod32".into(),
        controller: "vipu:8090".into(),
        size: 4,
        places: (0..4).map(|index| Place { domain: 0, index }).collect(),
        state: State::Running,
        ..Partition::default()
    };
    Status {
        schema: SCHEMA,
        written: now(),
        models: vec![model],
        partitions: vec![partition],
        ..Status::default()
    }
}
