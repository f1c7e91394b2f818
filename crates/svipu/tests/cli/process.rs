//! The program itself: exit status and a closed pipe.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::documents::pod1024;

fn svipu(path: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_svipu"));
    command.env("SVIPU_STATUS", path).args(words);
    command
}

#[test]
fn cli_svipu_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let code = |words: &[&str]| svipu(folder.path(), words).output().unwrap().status.code();
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["queue"]), Some(1));
    assert_eq!(code(&["no-such-command"]), Some(2));
    assert_eq!(code(&["queue", "--me", "-u", "root"]), Some(2));
    assert_eq!(code(&["ipu", "0-16"]), Some(2));
    assert_eq!(code(&["ipu", "/0:16"]), Some(2));
}

#[test]
fn cli_svipu_closed_pipe_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let mut status = pod1024(64);
    // More than a pipe holds, so that the program has to wait for the reader.
    status.partitions = std::iter::repeat_n(status.partitions, 10).flatten().collect();
    let path = folder.path().join("vipu_status.json");
    std::fs::write(&path, status.to_json().unwrap()).unwrap();
    let mut command = svipu(&path, &["partitions"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stderr
            .lines()
            .all(|line| line.contains("old: slurmctld may be down") || line.contains("in the future")),
        "{stderr}"
    );
}

/// Runs `svipu map -i` until it has written so many pages.
fn repeated(folder: &Path, seconds: &str, pages: usize) -> (Child, impl Sized) {
    let path = folder.join("vipu_status.json");
    std::fs::write(&path, pod1024(64).to_json().unwrap()).unwrap();
    // A shell starts background jobs with SIGINT ignored.
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_svipu"), "map", "-i", seconds]);
    let mut child =
        command.env("SVIPU_STATUS", &path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..pages {
        assert!(lines.by_ref().any(|line| line.unwrap().starts_with("as of ")));
    }
    (child, lines)
}

#[test]
fn cli_svipu_map_is_drawn_anew_until_the_reader_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, pipe) = repeated(folder.path(), "1", 2);
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // The program need not write to see that the reader is gone.
    let (mut child, pipe) = repeated(folder.path(), "3600", 1);
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn cli_svipu_map_ends_by_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _pipe) = repeated(folder.path(), "3600", 1);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGINT as i32));
}

#[test]
fn cli_svipu_pictures_are_written_to_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vipu_status.json");
    std::fs::write(&path, pod1024(64).to_json().unwrap()).unwrap();
    for command in ["map", "top"] {
        let file = folder.path().join(command);
        let output = svipu(&path, &[command, "--svg", file.to_str().unwrap()]).output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]));
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg "));
    }
    let output = svipu(&path, &["plan", "--svg", "/nonexistent/plan.svg"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("svipu: cannot write: /nonexistent/plan.svg: No such file"), "{stderr}");
}
