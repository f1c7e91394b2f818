//! A container as a host: commands, power switch, network and log.

use std::{env, path::Path, sync::Arc};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::engine::{ENGINE_LIMIT, docker, run};
use crate::{
    Account, ClusterCommand, Running,
    cluster::RunsCommands,
    process::{Lead, Start},
    programs,
};

#[derive(Debug)]
pub(super) struct Shared {
    /// Holds the commands that run in containers.
    lead: Lead,
    /// Has the output of these commands.
    folder: TempDir,
    network: String,
}

impl Shared {
    pub(super) fn new(network: String) -> Result<Self> {
        Ok(Self { lead: Lead::new()?, folder: tempfile::tempdir()?, network })
    }
}

#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    id: String,
    shared: Arc<Shared>,
}

impl Host {
    pub(super) fn new(name: &str, id: String, shared: &Arc<Shared>) -> Self {
        Self { name: name.into(), id, shared: Arc::clone(shared) }
    }

    pub fn command(&self, program: &str, account: &Account) -> ClusterCommand<'_> {
        ClusterCommand::new(self, program, account.clone())
    }

    /// Kills the host, as a power cut does.
    pub fn kill(&self) -> Result<()> {
        docker(&["kill", &self.id]).map(drop)
    }

    pub fn stop(&self) -> Result<()> {
        docker(&["stop", &self.id]).map(drop)
    }

    /// Starts the host again, with the files that were on its disk.
    pub fn start(&self) -> Result<()> {
        docker(&["start", &self.id]).map(drop)
    }

    pub fn runs(&self) -> Result<bool> {
        Ok(docker(&["inspect", "--format", "{{.State.Running}}", &self.id])? == "true")
    }

    pub fn pull_network(&self) -> Result<()> {
        docker(&["network", "disconnect", &self.shared.network, &self.id]).map(drop)
    }

    /// Plugs the network cable in again, with the earlier address and name.
    pub fn plug_network(&self) -> Result<()> {
        let Self { name, id, shared } = self;
        // The engine has forgotten the container's address, but keeps the extra hosts of compose.yaml.
        let hosts = docker(&["inspect", "--format", "{{join .HostConfig.ExtraHosts \"\\n\"}}", id])?;
        let address = hosts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let address = address.with_context(|| format!("{name} has no address in compose.yaml"))?;
        docker(&["network", "connect", "--ip", address, "--alias", name, &shared.network, id]).map(drop)
    }

    /// The output of the host's daemons up to now, over all starts.
    pub fn log(&self) -> Result<String> {
        let output = run(&["docker", "logs", &self.id], &[], ENGINE_LIMIT)?.succeeded("docker logs")?;
        Ok(output.stdout + &output.stderr)
    }
}

impl RunsCommands for Host {
    fn start(&self, command: &ClusterCommand<'_>) -> Result<Running> {
        let variables = command.environment.iter().map(|(name, value)| format!("--env={name}={value}"));
        let user = format!("--user={}", command.account.name);
        let words = [user, self.id.clone(), command.program.clone()];
        let args = ["exec".to_owned()].into_iter().chain(variables).chain(words);
        let args: Vec<_> = args.chain(command.args.iter().cloned()).collect();
        // docker learns from the environment where the engine is.
        let own = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let environment: Vec<_> = own.collect();
        let start = Start {
            program: &programs::find("docker")?,
            args: &args,
            account: &Account::root()?,
            hostname: None,
            disk: None,
            environment: &environment,
            directory: Path::new("/"),
        };
        Running::start(&self.shared.lead, self.shared.folder.path(), &start)
    }
}
