//! The docker engine of this machine.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::Output;

/// The longest time that the engine may take for one container.
pub(super) const ENGINE_LIMIT: Duration = Duration::from_secs(60);

/// Fails if no docker engine answers.
pub fn find_engine() -> Result<()> {
    let answer = docker(&["version", "--format", "{{.Server.Version}}"]);
    let mend = "install docker (Debian: docker.io and docker-compose), start it, or join the group docker";
    answer.with_context(|| format!("no docker engine answers: {mend}")).map(drop)
}

/// The command of compose: `docker compose`, or `docker-compose` where only that is installed.
pub fn find_compose() -> Result<&'static [&'static str]> {
    let known: [&[_]; 2] = [&["docker", "compose"], &["docker-compose"]];
    let answers = |words: &[&'static str]| {
        let asked = run(&[words, &["version"]].concat(), &[], ENGINE_LIMIT);
        asked.is_ok_and(|output| output.code == 0)
    };
    let found = known.into_iter().find(|words| answers(words));
    found.context("neither `docker compose` nor docker-compose is installed (Debian: docker-compose)")
}

pub fn image(suite: &str) -> String {
    format!("slurm-vipu:{suite}")
}

/// The image in which packages are tried.
pub fn image_for_packages(suite: &str) -> String {
    format!("slurm-vipu-packages:{suite}")
}

pub(super) fn docker(args: &[&str]) -> Result<String> {
    let words = [&["docker"], args].concat();
    let output = run(&words, &[], ENGINE_LIMIT)?.succeeded(&words.join(" "))?;
    Ok(output.stdout.trim_end().to_owned())
}

/// Runs a program, and ends it after `limit`, so that no engine can hang a test.
pub(super) fn run(words: &[&str], environment: &[(&str, &str)], limit: Duration) -> Result<Output> {
    let start = Instant::now();
    let mut command = Command::new("timeout");
    command.arg(limit.as_secs().to_string()).args(words).envs(environment.iter().copied());
    let output = command.stdin(Stdio::null()).output().context("cannot run timeout (Debian: coreutils)")?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let code = output.status.code().unwrap_or(-1);
    Ok(Output { code, stdout, stderr, took: start.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hanging_program_is_ended() {
        let hangs = run(&["sh", "-c", "echo $X; exec sleep 1000"], &[("X", "said")], Duration::from_secs(1));
        let ended = hangs.unwrap();
        assert_eq!((ended.code, ended.stdout.as_str()), (124, "said\n"));
        let error = ended.succeeded("this").unwrap_err().to_string();
        assert!(error.contains("`this` ended with 124: said"), "{error}");
    }
}
