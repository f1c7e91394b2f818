//! The test programs of the workspace. They and the programs that they start are built with one set of features, so that
//! cargo builds each dependency once.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::run;

/// The feature of that build. The objects that are shipped are built without.
pub const FAILPOINTS: [&str; 2] = ["--features", "slurmctld-vipu/failpoints"];

/// The variable with which the test harness of a stable Rust tells how long each test takes.
pub const TELLS_TIMES: &str = "RUSTC_BOOTSTRAP=1";

/// The folder of the package whose tests start daemons.
const END_TO_END: &str = "tests";

pub struct TestProgram {
    pub name: String,
    pub path: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
}

/// Builds all, with the programs of the project and the plugin with failpoints. `cargo test --no-run` would leave out the
/// plugin, and each program of a package without integration tests.
pub fn build() -> Result<Vec<TestProgram>> {
    let cargo = || {
        let mut cargo = run::cargo_command(&["build", "--workspace", "--all-targets"]);
        cargo.args(FAILPOINTS);
        cargo
    };
    run::visibly(cargo())?;
    let output = cargo().arg("--message-format=json").output()?;
    ensure!(output.status.success(), "cargo cannot name the test programs");
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| of_message(&serde_json::from_str(line).ok()?)).collect())
}

/// The test program of which a line of cargo tells.
fn of_message(message: &Value) -> Option<TestProgram> {
    message["profile"]["test"].as_bool().filter(|is_test| *is_test)?;
    Some(TestProgram {
        name: message["target"]["name"].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
        folder: PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}

/// Builds all, and returns the end-to-end tests with this name.
pub fn end_to_end(name: &str) -> Result<TestProgram> {
    let mut programs = build()?.into_iter();
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
        let mut command = run::as_root("env");
        command.arg(TELLS_TIMES).arg(&self.path);
        self.at_home(command)
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// The names of its tests.
    pub fn tests(&self) -> Result<Vec<String>> {
        let output = self.command().arg("--list").output()?;
        ensure!(output.status.success(), "{} cannot list its tests", self.path.display());
        let names = String::from_utf8_lossy(&output.stdout);
        Ok(names.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect())
    }
}
