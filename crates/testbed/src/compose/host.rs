//! A container as a host: commands, power switch, network and log.

use std::{
    collections::BTreeMap,
    env,
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::engine::{ENGINE_LIMIT, docker, run};
use crate::{
    Account, ClusterCommand, Running,
    cluster::{RunsCommands, locked},
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
    /// The logs of hosts up to their last replacement.
    earlier_logs: Mutex<BTreeMap<String, String>>,
}

impl Shared {
    pub(super) fn new(network: String) -> Result<Self> {
        let earlier_logs = Mutex::default();
        Ok(Self { lead: Lead::new()?, folder: tempfile::tempdir()?, network, earlier_logs })
    }
}

#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    /// The name or id of its container.
    container: String,
    shared: Arc<Shared>,
}

impl Host {
    pub(super) fn new(name: &str, container: String, shared: &Arc<Shared>) -> Self {
        Self { name: name.into(), container, shared: Arc::clone(shared) }
    }

    pub(super) fn container(&self) -> &str {
        &self.container
    }

    pub fn command(&self, program: &str, account: &Account) -> ClusterCommand<'_> {
        ClusterCommand::new(self, program, account.clone())
    }

    /// Kills the host, as a power cut does.
    pub fn kill(&self) -> Result<()> {
        docker(&["kill", &self.container]).map(drop)
    }

    pub fn stop(&self) -> Result<()> {
        docker(&["stop", &self.container]).map(drop)
    }

    /// Starts the host again, with the files that were on its disk.
    pub fn start(&self) -> Result<()> {
        docker(&["start", &self.container]).map(drop)
    }

    pub fn runs(&self) -> Result<bool> {
        Ok(docker(&["inspect", "--format", "{{.State.Running}}", &self.container])? == "true")
    }

    pub fn pull_network(&self) -> Result<()> {
        docker(&["network", "disconnect", &self.shared.network, &self.container]).map(drop)
    }

    /// Plugs the network cable in again, with the earlier address and name.
    pub fn plug_network(&self) -> Result<()> {
        let Self { name, container, shared } = self;
        // The engine has forgotten the container's address, but keeps the extra hosts of compose.yaml.
        let hosts = docker(&["inspect", "--format", "{{join .HostConfig.ExtraHosts \"\\n\"}}", container])?;
        let address = hosts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let address = address.with_context(|| format!("{name} has no address in compose.yaml"))?;
        docker(&["network", "connect", "--ip", address, "--alias", name, &shared.network, container])
            .map(drop)
    }

    /// The output of the host's daemons up to now, over all starts and replacements.
    pub fn log(&self) -> Result<String> {
        let earlier = locked(&self.shared.earlier_logs).get(&self.name).cloned().unwrap_or_default();
        let output =
            run(&["docker", "logs", &self.container], &[], ENGINE_LIMIT)?.succeeded("docker logs")?;
        Ok(earlier + &output.stdout + &output.stderr)
    }

    /// Keeps the log, which goes with the container.
    pub(super) fn keep_log(&self) -> Result<()> {
        let log = self.log()?;
        locked(&self.shared.earlier_logs).insert(self.name.clone(), log);
        Ok(())
    }
}

impl RunsCommands for Host {
    fn start(&self, command: &ClusterCommand<'_>) -> Result<Running> {
        let variables = command.environment.iter().map(|(name, value)| format!("--env={name}={value}"));
        let user = format!("--user={}", command.account.name);
        let words = [user, self.container.clone(), command.program.clone()];
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
