//! Documents that cannot be read, and names that are unknown.

use std::fs;
use std::path::Path;

use clap::Parser as _;
use insta::assert_snapshot;
use nix::sys::stat::Mode;
use svipu::Arguments;

use super::documents::{empty, pod64};
use super::{run, run_on, surroundings};

/// The error of a command on a file, which is called DIR/document.
fn error_on(prepare: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document");
    prepare(&path);
    let output = run_on(&path, "queue", &surroundings(&[]));
    assert_eq!((output.exit, &*output.stdout), (1, ""));
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    output.stderr.replace(folder.path().to_str().unwrap(), "DIR")
}

#[test]
fn cli_svipu_documents_that_cannot_be_read() {
    let whole = pod64().to_json().unwrap();
    let newer =
        String::from_utf8(empty().to_json().unwrap()).unwrap().replace("\"schema\":1", "\"schema\":2");
    let errors = [
        error_on(|_| {}),
        error_on(|path| fs::write(path, &whole[..100]).unwrap()),
        error_on(|path| fs::write(path, newer).unwrap()),
        error_on(|path| nix::unistd::mkfifo(path, Mode::S_IRUSR).unwrap()),
        error_on(|path| fs::create_dir(path).unwrap()),
        error_on(|path| fs::create_dir_all(path.join("vipu_status.json")).unwrap()),
        error_on(|path| fs::File::create(path).unwrap().set_len((64 << 20) + 1).unwrap()),
    ];
    assert_snapshot!(errors.concat());
}

#[test]
fn cli_svipu_unknown_names() {
    let lines = [
        "queue -M pod65",
        "queue -u nobody-here",
        "queue -o job,sise",
        "map -o job",
        "job 29",
        "job x",
        "partition slurm_2",
        "why 29",
        "ipu 0:64",
        "ipu vipu9:8090/0:3",
        "user nobody-here",
    ];
    let error = |line: &str| {
        let output = run(&pod64(), line);
        assert_eq!(output.stdout, "", "{line}");
        format!("{line}: exit {}\n{}", output.exit, output.stderr)
    };
    assert_snapshot!(lines.map(error).concat());
}

#[test]
fn cli_exporter_listens_where_people_say() {
    for (text, meant) in
        [(":9877", "0.0.0.0:9877"), ("localhost:9877", "127.0.0.1:9877"), ("[::1]:1", "[::1]:1")]
    {
        let parsed = Arguments::try_parse_from(["svipu", "exporter", "--listen", text]).unwrap();
        assert!(format!("{parsed:?}").contains(meant), "{text}: {parsed:?}");
    }
    assert!(Arguments::try_parse_from(["svipu", "exporter", "--listen", "9877"]).is_err());
}
