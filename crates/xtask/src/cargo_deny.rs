//! Runs cargo-deny. `deny.toml` lists the permitted licences, crates and sources.

use std::process::Stdio;

use anyhow::Result;
use testbed::say;

use crate::run;

/// The version that is installed where cargo-deny is missing.
const VERSION: &str = "0.20.2";

/// Checks licences, banned crates and sources, and known vulnerabilities where their database can be fetched.
pub fn check() -> Result<()> {
    if !succeeds(&["deny", "--version"]) {
        say("cargo-deny is compiled, which takes some minutes");
        run::visibly(run::nice_cargo_command(&["install", "cargo-deny", "--locked", "--version", VERSION]))?;
    }
    run::cargo(&["deny", "check", "bans", "licenses", "sources"])?;
    if !succeeds(&["deny", "fetch", "db"]) {
        say("the database of known vulnerabilities cannot be fetched here: they are not checked");
        return Ok(());
    }
    run::cargo(&["deny", "check", "advisories"])
}

fn succeeds(words: &[&str]) -> bool {
    let mut command = run::cargo_command(words);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
