//! The docker engine of this machine.

use std::time::Duration;

use anyhow::{Context, Result};

use super::program::Program;

/// How long the engine may take for one container.
pub(super) const ENGINE_LIMIT: Duration = Duration::from_secs(60);

/// Makes sure that an engine answers.
///
/// # Errors
/// When none does, or docker is not installed.
pub fn find_engine() -> Result<()> {
    let asked = Program::new(&["docker", "version", "--format", "{{.Server.Version}}"]).start();
    let asked = asked.context("docker is not installed (Debian: docker.io and docker-compose)")?;
    let answer = asked.success(ENGINE_LIMIT);
    answer.context("no docker engine answers: start it, or join the group docker").map(drop)
}

/// The words that run compose: `docker compose`, or `docker-compose` where only that is installed.
///
/// # Errors
/// When neither is.
pub fn find_compose() -> Result<&'static [&'static str]> {
    let known: [&[_]; 2] = [&["docker", "compose"], &["docker-compose"]];
    let answers = |words: &[&'static str]| {
        let asked = Program::new(&[words, &["version"]].concat()).output(ENGINE_LIMIT);
        asked.is_ok_and(|output| output.code == 0)
    };
    let found = known.into_iter().find(|words| answers(words));
    found.context("neither `docker compose` nor docker-compose is installed (Debian: docker-compose)")
}

/// The name of the image that the hosts of a Debian suite's clusters have.
#[must_use]
pub fn image(suite: &str) -> String {
    format!("slurm-vipu:{suite}")
}

/// The engine's answer to a command, without the line's end.
pub(super) fn docker(args: &[&str]) -> Result<String> {
    let output = Program::new(&[&["docker"], args].concat()).success(ENGINE_LIMIT)?;
    Ok(output.stdout.trim_end().to_owned())
}
