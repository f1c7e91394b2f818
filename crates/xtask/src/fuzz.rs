//! Fuzzing by libFuzzer, with the stable compiler.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run;

pub const TARGETS: [&str; 8] = ["admin", "conf", "gres", "journal", "table", "wire", "ipuof", "jobs"];

/// The compiler options that count the taken branches, as libFuzzer needs it. cargo-fuzz also asks a nightly
/// compiler for sanitizers, which find faults that safe Rust does not have.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Ccodegen-units=1 -Cdebug-assertions=on";

/// The target platform. With it, the options do not apply to build scripts, to which libFuzzer is not linked.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The limits: bytes of an input, seconds for an input, and MB of the process.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=1024"];

/// Runs a target for `seconds`. With `keep`, its corpus is then the smallest set of old and new inputs that
/// reaches all the code that they reach together.
pub fn run(target: &str, seconds: u32, keep: bool) -> Result<()> {
    let folder = run::workspace().join("target/fuzz");
    let found = folder.join(target);
    std::fs::create_dir_all(&found)?;
    let mut build =
        run::nice_cargo_command(&["build", "--release", "--target", PLATFORM, "--package", "fuzz"]);
    build.args(["--features", "libfuzzer", "--bin", "libfuzzer", "--target-dir"]).arg(&folder);
    build.env("RUSTFLAGS", COVERAGE).env("CARGO_PROFILE_RELEASE_LTO", "off");
    run::visibly(build)?;
    let program = folder.join(PLATFORM).join("release/libfuzzer");
    // The program writes seeds and corpus into `found` as it starts, for the next run.
    fuzz(&program, target, &found, &["-runs=1".to_owned()], &[])?;
    fuzz(&program, target, &found, &[format!("-max_total_time={seconds}")], &[&found])?;
    if keep {
        let kept = folder.join(format!("{target}-kept"));
        if kept.exists() {
            std::fs::remove_dir_all(&kept)?;
        }
        std::fs::create_dir(&kept)?;
        fuzz(&program, target, &found, &["-merge=1".to_owned()], &[&kept, &found])?;
        let inputs = std::fs::read_dir(&kept)?.map(|input| anyhow::Ok(std::fs::read(input?.path())?));
        write_corpus(target, inputs.collect::<Result<_>>()?)?;
        std::fs::remove_dir_all(kept)?;
    }
    Ok(())
}

pub fn add(target: &str, input: &Path) -> Result<()> {
    let input = std::fs::read(input).with_context(|| format!("{} cannot be read", input.display()))?;
    let file = corpus(target);
    let text = std::fs::read_to_string(&file).with_context(|| format!("no corpus {}", file.display()))?;
    Ok(std::fs::write(file, format!("{text}{}\n", input.escape_ascii()))?)
}

fn write_corpus(target: &str, inputs: Vec<Vec<u8>>) -> Result<()> {
    let mut lines: Vec<_> = inputs.iter().map(|input| format!("{}\n", input.escape_ascii())).collect();
    lines.sort_unstable();
    Ok(std::fs::write(corpus(target), lines.concat())?)
}

/// The file of the corpus, with one escaped input a line. The crate `fuzz` reads it.
fn corpus(target: &str) -> PathBuf {
    run::workspace().join(format!("crates/fuzz/corpus/{target}.txt"))
}

/// Runs libFuzzer. Inputs that break something stay in `found`.
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
