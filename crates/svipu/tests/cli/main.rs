//! Runs command lines on documents, and compares all that they print.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conf;
mod doctor;
mod documents;
mod environment;
mod errors;
mod finding;
mod generate;
mod golden;
mod history;
mod hostfile;
mod limits;
mod manual;
mod migrate;
mod plan;
mod process;
mod remote;
mod steering;
mod top;
mod top_terminal;
mod why;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use clap::Parser as _;
use svipu::{Arguments, Output, Surroundings, Users};
use vipu_status::Status;

/// The time of each run: three seconds after the documents were written.
const NOW: i64 = 1_800_000_003;

fn surroundings(variables: &[(&str, &Path)]) -> Surroundings {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.as_os_str().to_owned()));
    let mut variables: BTreeMap<String, OsString> = variables.collect();
    variables.entry("LANG".into()).or_insert_with(|| "C.UTF-8".into());
    Surroundings {
        now: NOW,
        zone: jiff::tz::TimeZone::UTC,
        user: 1000,
        users: Users::List(vec![(1000, "alice".into()), (1001, "bob".into()), (0, "root".into())]),
        variables,
        terminal: false,
        size: None,
        host: "login".into(),
        root: "/nonexistent".into(),
        etc: "/nonexistent".into(),
    }
}

/// The output of a command line with a file as the document.
fn run_on(path: &Path, line: &str, surroundings: &Surroundings) -> Output {
    let words = std::iter::once("svipu").chain(line.split_whitespace());
    let mut arguments: Vec<OsString> = words.map(OsString::from).collect();
    arguments.extend(["--status".into(), path.into()]);
    svipu::run(&Arguments::try_parse_from(arguments).unwrap(), surroundings)
}

/// The output of a command line with a document.
fn run(status: &Status, line: &str) -> Output {
    run_in(status, line, &surroundings(&[]))
}

fn run_in(status: &Status, line: &str, surroundings: &Surroundings) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vipu_status.json");
    fs::write(&path, status.to_json().unwrap()).unwrap();
    run_on(&path, line, surroundings)
}

/// All that a run printed, as one text for a golden file.
fn printed(output: &Output) -> String {
    let mut text = output.stdout.clone() + &String::from_utf8_lossy(&output.diff);
    if !output.stderr.is_empty() {
        text += &format!("--- stderr\n{}", output.stderr);
    }
    if output.exit != 0 {
        text += &format!("--- exit {}\n", output.exit);
    }
    text
}
