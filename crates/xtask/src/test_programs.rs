//! The test programs of the workspace. They and the programs that they start are built with one set of features, so that
//! cargo builds each dependency once.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::say;

use crate::pool::Program;
use crate::run;

/// The feature of that build. The objects that are shipped are built without.
pub const FAILPOINTS: [&str; 2] = ["--features", "slurmctld-vipu/failpoints"];

/// The folder of the package whose tests start daemons.
const END_TO_END: &str = "tests";

#[derive(Clone)]
pub struct TestProgram {
    pub name: String,
    pub path: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
}

/// Builds all, with the programs of the project and the plugin with failpoints. `cargo test --no-run` would leave out the
/// plugin, and each program of a package without integration tests.
pub fn build() -> Result<Vec<TestProgram>> {
    let mut cargo = run::cargo_command(&["build", "--workspace", "--all-targets"]);
    cargo.args(FAILPOINTS).arg("--message-format=json-render-diagnostics");
    say("cargo build --workspace --all-targets");
    let mut building = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let messages = BufReader::new(building.stdout.take().context("cargo has no output")?);
    let mut programs = Vec::new();
    for message in messages.lines() {
        programs.extend(of_message(&serde_json::from_str(&message?)?));
    }
    ensure!(building.wait()?.success(), "cargo cannot build the workspace");
    Ok(programs)
}

/// The test program of which a line of cargo tells.
fn of_message(message: &Value) -> Option<TestProgram> {
    let program = TestProgram {
        name: message["target"]["name"].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
        folder: PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned(),
        environment: Vec::new(),
    };
    let is_test = message["profile"]["test"] == true || program.is_end_to_end();
    is_test.then_some(program)
}

/// The end-to-end tests with this name.
pub fn end_to_end<'a>(programs: &'a [TestProgram], name: &str) -> Result<&'a TestProgram> {
    let mut programs = programs.iter();
    let found = programs.find(|program| program.is_end_to_end() && program.name == name);
    found.with_context(|| format!("cargo built no program of the tests '{name}'"))
}

impl TestProgram {
    pub fn is_end_to_end(&self) -> bool {
        self.folder.ends_with(END_TO_END)
    }

    /// The command that runs it as cargo does.
    pub fn command(&self) -> Command {
        self.at_home(Command::new(&self.path))
    }

    pub fn command_as_root(&self) -> Command {
        self.at_home(run::as_root(&self.path.to_string_lossy()))
    }

    /// This program, with a variable in its environment.
    pub fn with(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut program = self.clone();
        program.environment.push((name, value.into()));
        program
    }

    /// The program for the pool.
    pub fn in_pool(&self) -> Program {
        self.made_by(Self::command)
    }

    /// The program for the pool, as root.
    pub fn in_pool_as_root(&self) -> Program {
        self.made_by(Self::command_as_root)
    }

    fn made_by(&self, command: fn(&Self) -> Command) -> Program {
        let program = self.clone();
        Arc::new(move |harness| {
            let mut command = command(&program);
            command.args(harness);
            command
        })
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The names of its tests that contain `filter`.
    pub fn tests(&self, filter: Option<&str>) -> Result<Vec<String>> {
        let output = self.command().arg("--list").output()?;
        ensure!(output.status.success(), "{} cannot list its tests", self.path.display());
        let names = String::from_utf8_lossy(&output.stdout);
        let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
        let is_chosen = |test: &&str| filter.is_none_or(|filter| test.contains(filter));
        Ok(names.filter(is_chosen).map(str::to_owned).collect())
    }
}
