//! `svipu top` in a real terminal: what it shows, and how it leaves the terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use pty_process::Size;
use pty_process::blocking::{Command, Pts, Pty, open};
use tempfile::TempDir;
use vipu_status::Status;

use super::documents::{pod64, pod1024};

/// The time after which a test gives up.
const LIMIT: Duration = Duration::from_secs(60);

/// A program in a terminal.
struct Session {
    child: Child,
    pty: Arc<Pty>,
    /// The terminal keeps its settings only as long as the program's side of it is open.
    _program_side: Pts,
    output: Receiver<Vec<u8>>,
    terminal: vt100::Parser,
    before: Termios,
}

impl Session {
    fn start(command: impl FnOnce(&Pts) -> Child) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(24, 80)).unwrap();
        let pty = Arc::new(pty);
        let before = tcgetattr(&*pty).unwrap();
        let (sender, output) = channel();
        let source = Arc::clone(&pty);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = (&*source).read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let child = command(&pts);
        let terminal = vt100::Parser::default();
        Self { child, pty, _program_side: pts, output, terminal, before }
    }

    /// Waits until the screen is as it should be.
    fn wait(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + LIMIT;
        while !is_so(self.terminal.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.terminal.process(&bytes),
                Err(_) => panic!("{what} did not come:\n{}", self.terminal.screen().contents()),
            }
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    fn wait_for_map(&mut self) {
        self.wait("the map", |screen| {
            screen.alternate_screen() && screen.contents().contains("\n0 AAAAAAAA")
        });
        assert!(self.terminal.screen().hide_cursor());
        assert_ne!(tcgetattr(&*self.pty).unwrap(), self.before);
    }

    fn press(&mut self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        self.terminal.screen_mut().set_size(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for the end, and checks that the terminal is as before.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        self.wait("the usual screen", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(tcgetattr(&*self.pty).unwrap(), self.before);
        (status, self.terminal.screen().contents())
    }
}

/// Puts a document in the place of another one, as slurmctld does.
fn write(folder: &Path, mut status: Status) {
    status.written = jiff::Timestamp::now().as_second();
    fs::write(folder.join("new"), status.to_json().unwrap()).unwrap();
    fs::rename(folder.join("new"), folder.join("vipu_status.json")).unwrap();
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), pod64());
    folder
}

/// Sets the environment of svipu. The names of users need no server.
fn command(program: &str, folder: &Path) -> Command {
    Command::new(program).env("SVIPU_STATUS", folder).env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8")
}

fn top(folder: &Path) -> Session {
    // A shell starts background jobs with SIGINT ignored.
    let words = ["--default-signal", env!("CARGO_BIN_EXE_svipu"), "top"];
    let mut command = command("env", folder).args(words);
    Session::start(|pts| command.spawn_borrowed(pts).unwrap())
}

#[test]
fn cli_svipu_top_in_a_terminal_follows_keys_size_and_document() {
    let folder = folder();
    let mut session = top(folder.path());
    session.wait_for_map();
    session.press("\t");
    session.wait_for("[Waiting jobs 3]");
    session.press("\x1b[B");
    session.resize(40, 120);
    session.wait("the keys in the last row", |screen| {
        screen.rows(0, 120).last().is_some_and(|row| row.starts_with("F1 Help"))
    });
    session.resize(5, 20);
    session.wait_for("svipu top needs");
    session.resize(24, 80);
    session.wait_for_map();
    write(folder.path(), pod1024(64));
    session.wait_for("Partitions 500");
    fs::remove_file(folder.path().join("vipu_status.json")).unwrap();
    session.wait_for("no new document: cannot read it: No such file");
    write(folder.path(), pod64());
    session.wait("the end of the note", |screen| {
        let text = screen.contents();
        text.contains("Partitions 5 ") && !text.contains("no new document")
    });
    session.press("q");
    let (status, text) = session.end();
    assert_eq!(status.code(), Some(0), "{text}");
}

#[test]
fn cli_svipu_top_gives_the_terminal_back_at_signals() {
    let folder = folder();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let mut session = top(folder.path());
        session.wait_for_map();
        session.signal(signal);
        let (status, text) = session.end();
        assert_eq!(status.signal(), Some(signal as i32), "{status} {text}");
    }
}

#[test]
fn cli_svipu_top_stops_for_the_shell_and_goes_on() {
    let folder = folder();
    let script = format!("set -m; {} top; echo stopped; read line; fg", env!("CARGO_BIN_EXE_svipu"));
    let mut command = command("sh", folder.path()).args(["-c", &script]);
    let mut session = Session::start(|pts| command.spawn_borrowed(pts).unwrap());
    session.wait_for_map();
    session.press("\x1a");
    session.wait("the shell", |screen| !screen.alternate_screen() && screen.contents().contains("stopped"));
    assert!(!session.terminal.screen().hide_cursor());
    session.press("\n");
    session.wait_for_map();
    session.press("q");
    assert_eq!(session.end().0.code(), Some(0));
}

/// A server whose first answer is a document, and whose others do not come. It tells of each client.
fn hanging_server() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, clients) = channel();
    std::thread::spawn(move || {
        let mut status = pod64();
        status.written = jiff::Timestamp::now().as_second();
        let body = status.to_json().unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let mut answer = Some([head.as_bytes(), &body].concat());
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1000]);
            if let Some(answer) = answer.take() {
                stream.write_all(&answer).unwrap();
            }
            sender.send(stream).unwrap();
        }
    });
    (address, clients)
}

#[test]
fn cli_svipu_top_lives_on_while_a_read_hangs() {
    for end in [None, Some(Signal::SIGTERM)] {
        let (address, clients) = hanging_server();
        let mut session = top(Path::new(&format!("http://{address}/")));
        session.wait_for_map();
        clients.recv_timeout(LIMIT).unwrap();
        let hanging = clients.recv_timeout(LIMIT).unwrap();
        session.wait_for("its read has not ended for 3 s");
        session.press("\t");
        session.wait_for("[Waiting jobs 3]");
        match end {
            None => session.press("q"),
            Some(signal) => session.signal(signal),
        }
        let (status, text) = session.end();
        assert_eq!(
            (status.code(), status.signal()),
            (end.map_or(Some(0), |_| None), end.map(|it| it as i32)),
            "{text}"
        );
        drop(hanging);
    }
}

#[test]
fn cli_svipu_top_gives_the_terminal_back_after_a_panic() {
    let this = std::env::current_exe().unwrap();
    let words = ["--ignored", "--exact", "top_terminal::panics_on_the_screen", "--nocapture"];
    let mut command = command(this.to_str().unwrap(), Path::new("/")).args(words);
    let mut session = Session::start(|pts| command.spawn_borrowed(pts).unwrap());
    session.wait("the message", |screen| screen.contents().contains("for the test"));
    let (status, text) = session.end();
    assert_eq!(status.code(), Some(101), "{text}");
    assert!(text.contains("for the test"), "the message is on the usual screen: {text}");
}

/// The program of the test above.
#[test]
#[ignore = "cli_svipu_top_gives_the_terminal_back_after_a_panic runs it in a terminal"]
fn panics_on_the_screen() {
    let mut screen = svipu::Screen::enter().unwrap();
    screen.draw(|_| panic!("for the test")).unwrap();
}

#[test]
fn cli_svipu_top_needs_a_terminal_as_input_too_and_one_that_draws() {
    let folder = folder();
    let command = || command(env!("CARGO_BIN_EXE_svipu"), folder.path()).arg("top");
    for mut command in [command().stdin(Stdio::null()), command().env("TERM", "dumb")] {
        let mut session = Session::start(|pts| command.spawn_borrowed(pts).unwrap());
        session.wait_for("it needs a terminal as standard input and output");
        assert_eq!(session.end().0.code(), Some(2));
    }
}
