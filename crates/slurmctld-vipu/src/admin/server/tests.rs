//! Peers of all kinds, on a socket of this process.

use std::path::{Path, PathBuf};

use nix::unistd::getuid;

use super::*;

/// A server that answers each request with a text of this length.
struct Site {
    _dir: tempfile::TempDir,
    socket: PathBuf,
}

impl Site {
    fn start(connections: usize, patience: Duration, answer: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let carry_out = move |_, _| std::future::ready(Answer::Done("x".repeat(answer)));
        let limits = Limits { connections, patience };
        let server = Server { slurm_user: getuid().as_raw(), limits, carry_out };
        tokio::spawn(server.run(listener));
        Self { _dir: dir, socket }
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// The answer to a connection with this text.
async fn says(socket: &Path, text: &[u8]) -> Answer {
    let mut peer = UnixStream::connect(socket).await.unwrap();
    // The server need not take all of it.
    let _ = peer.write_all(text).await;
    answer(peer).await
}

async fn answer(peer: UnixStream) -> Answer {
    Answer::parse(&line(peer).await).unwrap()
}

async fn line(mut peer: UnixStream) -> Vec<u8> {
    let mut line = Vec::new();
    // What was not taken resets the connection behind the answer.
    let _ = peer.read_to_end(&mut line).await;
    line
}

fn refusal(answer: Answer) -> String {
    let Answer::Refused(why) = answer else { panic!("{answer:?}") };
    why
}

const GOOD: &[u8] = b"{\"reconcile\":{}}\n";
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);

#[test]
fn cli_steer_server_answers_a_request_and_names_what_is_none() {
    run(async {
        let site = Site::start(16, LONG, 1);
        assert_eq!(says(&site.socket, GOOD).await, Answer::Done("x".into()));
        for (text, why) in [
            (&b"\n"[..], "this is no request: EOF while parsing a value at line 1 column 0"),
            (b"\xff\x00\x1b[2J\n", "this is no request: expected value at line 1 column 1"),
            (&[b'['; 1 << 20], "this is no request: the line is longer than 65536 bytes"),
        ] {
            assert_eq!(refusal(says(&site.socket, text).await), why);
        }
    });
}

#[test]
fn cli_steer_server_waits_for_half_a_line_for_a_while_only() {
    run(async {
        let site = Site::start(1, SHORT, 1);
        assert_eq!(refusal(says(&site.socket, b"{\"reconcile\"").await), "no whole line came within 0 s");
        assert_eq!(says(&site.socket, GOOD).await, Answer::Done("x".into()), "its place is free again");
    });
}

#[test]
fn cli_steer_server_takes_ten_thousand_connections_without_harm() {
    run(async {
        let site = Site::start(16, LONG, 1);
        let mut silent = Vec::new();
        for _ in 0..16 {
            silent.push(UnixStream::connect(&site.socket).await.unwrap());
        }
        let busy = "slurmctld is busy with other requests: try again in some seconds";
        for _ in 0..10_000 {
            assert_eq!(refusal(answer(UnixStream::connect(&site.socket).await.unwrap()).await), busy);
        }
        let one = silent.pop().unwrap();
        drop(one);
        // The server may not have seen the end of that peer yet.
        while says(&site.socket, GOOD).await == Answer::Refused(busy.into()) {}
        assert_eq!(says(&site.socket, GOOD).await, Answer::Done("x".into()));
    });
}

#[test]
fn cli_steer_server_leaves_a_peer_that_does_not_read() {
    run(async {
        let site = Site::start(1, SHORT, 8 << 20);
        let mut deaf = UnixStream::connect(&site.socket).await.unwrap();
        deaf.write_all(GOOD).await.unwrap();
        let is_served = async || {
            let mut peer = UnixStream::connect(&site.socket).await.unwrap();
            let _ = peer.write_all(GOOD).await;
            line(peer).await.starts_with(b"{\"done\"")
        };
        while !is_served().await {}
    });
}
