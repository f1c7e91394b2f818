//! A container as a host: commands on it, its power switch, its log.

use std::time::Duration;

use anyhow::Result;
use slurm_release::Version;

use super::{
    USER,
    engine::{ENGINE_LIMIT, docker},
    program::{Program, Running},
};
use crate::{Output, programs};

/// How long a command may take that is not meant to wait for anything.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// A host of a cluster.
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    id: String,
}

/// A command to be run on a host.
#[derive(Debug)]
pub struct HostCommand {
    options: Vec<String>,
    container: String,
    words: Vec<String>,
    input: Option<String>,
}

impl Host {
    pub(super) fn new(name: &str, id: String) -> Self {
        Self { name: name.into(), id }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Its name in the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command on this host, as root unless told otherwise.
    #[must_use]
    pub fn command(&self, program: &str) -> HostCommand {
        let (container, words) = (self.id.clone(), vec![program.to_owned()]);
        HostCommand { options: Vec::new(), container, words, input: None }
    }

    /// A text file of this host.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &str) -> Result<String> {
        Ok(self.command("cat").args(&[path]).success()?.stdout)
    }

    /// Cuts its power.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn kill(&self) -> Result<()> {
        docker(&["kill", &self.id]).map(drop)
    }

    /// Shuts it down.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn stop(&self) -> Result<()> {
        docker(&["stop", &self.id]).map(drop)
    }

    /// Starts it again, with what it had on its disk.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn start(&self) -> Result<()> {
        docker(&["start", &self.id]).map(drop)
    }

    /// Whether it is up.
    ///
    /// # Errors
    /// When the engine does not say.
    pub fn runs(&self) -> Result<bool> {
        Ok(docker(&["inspect", "--format", "{{.State.Running}}", &self.id])? == "true")
    }

    /// What its daemons printed up to now, over all starts.
    ///
    /// # Errors
    /// When the engine has no log of it.
    pub fn log(&self) -> Result<String> {
        let output = Program::new(&["docker", "logs", &self.id]).success(ENGINE_LIMIT)?;
        Ok(output.stdout + &output.stderr)
    }

    pub(super) fn slurm_version(&self) -> Result<Version> {
        programs::version_shown(&self.command("scontrol").args(&["-V"]).success()?.stdout)
    }
}

impl HostCommand {
    /// More arguments.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.words.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// As the cluster's user, at home.
    #[must_use]
    pub fn as_user(self) -> Self {
        let home = format!("/home/{USER}");
        self.options(&["--user", USER, "--workdir", &home])
    }

    /// With this variable.
    #[must_use]
    pub fn env(self, name: &str, value: &str) -> Self {
        let variable = format!("{name}={value}");
        self.options(&["--env", &variable])
    }

    /// With this text to read.
    #[must_use]
    pub fn input(mut self, text: &str) -> Self {
        self.input = Some(text.into());
        self.options(&["--interactive"])
    }

    fn options(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(self) -> Result<Running> {
        let docker = ["docker".to_owned(), "exec".to_owned()];
        let words = [&docker[..], &self.options, &[self.container], &self.words].concat();
        Program::new(&words).input(self.input).start()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it cannot be started or does not end.
    pub fn output(self) -> Result<Output> {
        self.start()?.output(COMMAND_LIMIT)
    }

    /// Runs it and wants it to succeed.
    ///
    /// # Errors
    /// When it does not; its own words are in the message.
    pub fn success(self) -> Result<Output> {
        self.start()?.success(COMMAND_LIMIT)
    }
}
