//! Fuzzing by libFuzzer, with the stable compiler.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run;

/// The targets of crates/fuzz.
pub const TARGETS: [&str; 6] = ["conf", "gres", "journal", "table", "wire", "ipuof"];

/// Has the compiler count which ways are taken, as libFuzzer wants it; what cargo-fuzz asks of a nightly one besides,
/// the sanitizers, finds faults that safe Rust does not have.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Ccodegen-units=1 -Cdebug-assertions=on";

/// Build scripts are not to be compiled so: libFuzzer is not linked to them.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Bytes that an input may have, seconds that one may take, and MB that the process may.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=1024"];

/// Runs a target for so many seconds; `minimise` then keeps of the corpus only what reaches something of its own.
pub fn run(target: &str, seconds: u32, minimise: bool) -> Result<()> {
    let folder = run::workspace().join("target/fuzz");
    let (corpus, found) = (run::workspace().join("crates/fuzz/corpus").join(target), folder.join(target));
    std::fs::create_dir_all(&found)?;
    std::fs::create_dir_all(&corpus)?;
    let mut build = run::cargo_command(&["build", "--release", "--target", PLATFORM, "--package", "fuzz"]);
    build.args(["--features", "libfuzzer", "--bin", "libfuzzer", "--target-dir"]).arg(&folder);
    build.env("RUSTFLAGS", COVERAGE).env("CARGO_PROFILE_RELEASE_LTO", "off");
    run::visibly(build)?;
    let program = folder.join(PLATFORM).join("release/libfuzzer");
    fuzz(&program, target, &found, &["-runs=1".to_owned()], &[])?;
    fuzz(&program, target, &found, &[format!("-max_total_time={seconds}")], &[&found, &corpus])?;
    if minimise {
        let all = folder.join(format!("{target}-all"));
        std::fs::rename(&corpus, &all).context("the corpus cannot be replaced")?;
        std::fs::create_dir_all(&corpus)?;
        fuzz(&program, target, &found, &["-merge=1".to_owned()], &[&corpus, &found, &all])?;
        std::fs::remove_dir_all(all)?;
    }
    Ok(())
}

/// Inputs that break something are left in `found`.
fn fuzz(program: &Path, target: &str, found: &Path, options: &[String], folders: &[&PathBuf]) -> Result<()> {
    let mut command = std::process::Command::new("nice");
    command.args(["-n", "19"]).arg(program).args(LIMITS).args(options).args(folders);
    command.arg(format!("-artifact_prefix={}/crash-", found.display()));
    run::visibly({
        command.env("FUZZ_TARGET", target).env("FUZZ_SEEDS", found);
        command
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_those_of_the_crate() {
        let text = std::fs::read_to_string(run::workspace().join("crates/fuzz/src/targets.rs")).unwrap();
        let names = text.split("Target { name: \"").skip(1).filter_map(|rest| rest.split('"').next());
        assert_eq!(names.collect::<Vec<_>>(), TARGETS);
    }
}
