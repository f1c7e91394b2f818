//! Running programs and showing their commands.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use nix::unistd::Uid;
use testbed::say;

pub fn workspace() -> PathBuf {
    let built_in = env!("CARGO_MANIFEST_DIR");
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| built_in.into());
    PathBuf::from(manifest).join("../..")
}

/// A command of the cargo that runs this task, in the workspace.
pub fn cargo_command(args: &[&str]) -> Command {
    of_cargo(Command::new(cargo_program()), args)
}

fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

fn of_cargo(mut command: Command, args: &[&str]) -> Command {
    command.args(args).current_dir(workspace());
    // cargo set these variables for this program's package. Build scripts that look at them would run again
    // each time.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        command.env_remove(name);
    }
    command
}

pub fn cargo(args: &[&str]) -> Result<()> {
    visibly(cargo_command(args))
}

/// The number of commits up to this one. Outside of a repository 0.
pub fn commit_number() -> Result<u64> {
    let output = git(&["rev-list", "--count", "HEAD"]).output()?;
    let number = String::from_utf8_lossy(&output.stdout);
    Ok(if output.status.success() { number.trim().parse()? } else { 0 })
}

pub fn git(args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(workspace());
    git
}

/// The files of the tree that git knows under these names.
pub fn tracked(names: &[&str]) -> Result<Vec<String>> {
    let output = git(&["ls-files", "--"]).args(names).output()?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// As [`cargo_command()`], with the lowest priority: tests on daemons run beside it.
pub fn nice_cargo_command(args: &[&str]) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(cargo_program());
    of_cargo(nice, args)
}

/// Builds the documentation of every item, to check its links.
pub fn document() -> Result<()> {
    let mut doc = nice_cargo_command(&["doc", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    visibly(doc)
}

pub fn visibly(mut command: Command) -> Result<()> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = [program].into_iter().chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    say(&line);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot run `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

pub fn is_root() -> bool {
    Uid::effective().is_root()
}

/// The words that run a command as root. Empty if this process is root.
pub fn to_root() -> &'static [&'static str] {
    if is_root() { &[] } else { &["sudo"] }
}

pub fn as_root(program: &str) -> Command {
    let mut words = to_root().iter().copied().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words);
    command
}
