//! Runs slurmctld under valgrind.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use testbed::programs;

use crate::test_programs::{self, TestProgram};
use crate::{build, run};

const TEST: &str = "fault_valgrind_finds_no_error_of_ours";

/// Builds the plugins with the names of their functions, and runs the test with a slurmctld under valgrind.
pub fn run(tests: &[TestProgram]) -> Result<()> {
    let folder = run::workspace().canonicalize()?.join("target/valgrind");
    let plugins = folder.join("plugins");
    fs::create_dir_all(&plugins)?;
    let mut command = run::cargo_command(&["build", "--release"]);
    command.args(build::plugin_packages());
    command.arg("--target-dir").arg(&folder);
    command.envs([("CARGO_PROFILE_RELEASE_STRIP", "none"), ("CARGO_PROFILE_RELEASE_LTO", "off")]);
    run::visibly(command)?;
    for name in programs::PLUGINS {
        fs::copy(folder.join("release").join(format!("lib{name}")), plugins.join(name))?;
    }
    let (logs, program) = (folder.join("logs"), folder.join("slurmctld"));
    let _ = fs::remove_dir_all(&logs);
    fs::create_dir(&logs)?;
    fs::set_permissions(&logs, Permissions::from_mode(0o1777))?;
    let script = format!(
        "#!/bin/sh\nexec {} --num-callers=40 --trace-children=no --log-file={}/%p {} \"$@\"\n",
        programs::find("valgrind")?.display(),
        logs.display(),
        programs::find("slurmctld")?.display(),
    );
    fs::write(&program, script)?;
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    let mut test = run::as_root("env");
    test.arg(format!("SLURMCTLD={}", program.display()));
    test.arg(format!("VIPU_PLUGIN_DIR={}", plugins.display()));
    test.arg(format!("VALGRIND_LOGS={}", logs.display()));
    test.arg(&test_programs::end_to_end(tests, "e2e")?.path).args([TEST, "--ignored"]);
    run::visibly(test)
}
