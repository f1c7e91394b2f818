//! The program itself: exit status and a closed pipe.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

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
