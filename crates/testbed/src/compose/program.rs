//! Programs of this machine, run with a deadline: nothing that an engine does may hang a test.

use std::{
    fs::File,
    io::{Seek, Write},
    os::unix::fs::FileExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{Output, wait_for};

/// A program to be run.
#[derive(Debug)]
pub(super) struct Program {
    command: Command,
    input: Option<String>,
}

/// A program that runs; it is killed when this is dropped. What it started in a container goes on.
#[derive(Debug)]
pub struct Running {
    child: Child,
    what: String,
    started: Instant,
    stdout: File,
    stderr: File,
}

impl Program {
    pub(super) fn new<S: AsRef<str>>(words: &[S]) -> Self {
        let mut words = words.iter().map(AsRef::as_ref);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        Self { command, input: None }
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads; nothing unless told otherwise.
    pub(super) fn input(mut self, text: Option<String>) -> Self {
        self.input = text;
        self
    }

    pub(super) fn start(mut self) -> Result<Running> {
        let words = [self.command.get_program()].into_iter().chain(self.command.get_args());
        let what = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        // Of a script in the arguments the first line will do.
        let what = what.lines().next().unwrap_or_default().to_owned();
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let stdin = match self.input {
            Some(text) => {
                let mut file = tempfile::tempfile()?;
                file.write_all(text.as_bytes())?;
                file.rewind()?;
                file.into()
            }
            None => Stdio::null(),
        };
        self.command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let child = self.command.spawn().with_context(|| format!("cannot run `{what}`"))?;
        Ok(Running { child, what, started: Instant::now(), stdout, stderr })
    }

    pub(super) fn output(self, limit: Duration) -> Result<Output> {
        self.start()?.output(limit)
    }

    pub(super) fn success(self, limit: Duration) -> Result<Output> {
        self.start()?.success(limit)
    }
}

impl Running {
    /// Waits for its end.
    ///
    /// # Errors
    /// When it has not ended after `limit`: what it said is in the message.
    pub fn output(mut self, limit: Duration) -> Result<Output> {
        let what = format!("the end of `{}`", self.what);
        let ended = wait_for(&what, limit, || Ok(self.child.try_wait()?));
        let took = self.started.elapsed();
        let (stdout, stderr) = (whole(&self.stdout)?, whole(&self.stderr)?);
        let status = ended.with_context(|| format!("it said: {stdout}{stderr}"))?;
        let code = status.code().with_context(|| format!("`{}` was killed", self.what))?;
        Ok(Output { code, stdout, stderr, took })
    }

    /// Waits for its end and wants it to succeed.
    ///
    /// # Errors
    /// When it does not.
    pub fn success(self, limit: Duration) -> Result<Output> {
        let what = self.what.clone();
        self.output(limit)?.succeeded(&what)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What was written so far. The writer shares the file's position, so that must stay where it is.
fn whole(file: &File) -> Result<String> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len())?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_is_fed_and_read() {
        let output = Program::new(&["sh", "-c", "cat; echo $X >&2; exit 3"]).env("X", "y");
        let output = output.input(Some("in".into())).output(LIMIT).unwrap();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (3, "in", "y\n"));
        let error = Program::new(&["sh", "-c", "echo why; exit 3"]).success(LIMIT).unwrap_err();
        assert!(error.to_string().contains("ended with 3: why"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_given_up() {
        let hangs = Program::new(&["sh", "-c", "echo said; exec sleep 1000"]);
        let error = hangs.output(Duration::from_millis(300)).unwrap_err();
        assert!(format!("{error:#}").contains("it said: said"), "{error:#}");
    }
}
