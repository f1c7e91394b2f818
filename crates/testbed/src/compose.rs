//! A cluster of containers, one for each host, driven from outside: for what needs more than one host.
//!
//! The containers are those of `docker/compose.yaml`. Each cluster is a compose project with a name and a network of
//! its own, so that clusters of several processes, and what a killed one left behind, do not disturb each other.
//! The environment says which release and which files: `SUITE` (a Debian suite, `bookworm` unless told otherwise),
//! `VIPU_FILES` (the folder that `cargo xtask image` fills, which is also where it is looked for without that variable),
//! and `SUBNET`, should the networks that are chosen here be in use outside of the docker engine.
//!
//! ```no_run
//! # use std::time::Duration;
//! # fn main() -> anyhow::Result<()> {
//! testbed::compose::Settings::default().run(|cluster| {
//!     let job = cluster.sbatch("sleep 1000", &["-N4", "--no-requeue", "--gres=vipu:pod64:16"])?;
//!     cluster.pull_network(&cluster.host("ipu-pod64-002")?)?;
//!     let ended = cluster.await_end(job, Duration::from_secs(60))?;
//!     anyhow::ensure!(ended.state == "NODE_FAIL");
//!     Ok(())
//! })
//! # }
//! ```

mod checks;
mod controller;
mod engine;
mod host;
mod jobs;
mod program;
mod project;
mod spare_login;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::Result;
use slurm_release::Version;

use crate::{JobId, invariants, say, wait_until};

pub use controller::Controller;
pub use engine::{find_compose, find_engine, image};
pub use host::{Host, HostCommand};
pub use program::Running;
use project::{BuiltFiles, Project};
pub use spare_login::SpareLogin;

/// The nodes of `docker/etc/slurm.conf`.
pub const NODES: [&str; 4] = ["ipu-pod64-001", "ipu-pod64-002", "ipu-pod64-003", "ipu-pod64-004"];

/// The user of the image who submits jobs.
pub const USER: &str = "alice";

/// How long a host or a daemon may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(90);

/// What a test asks of its cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    create_time: Duration,
    expected: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { create_time: Duration::from_secs(2), expected: Vec::new() }
    }
}

impl Settings {
    /// How long the controller needs to make a partition.
    #[must_use]
    pub fn create_time(mut self, time: Duration) -> Self {
        self.create_time = time;
        self
    }

    /// Lines of slurmctld's and the nodes' logs that hold `part` are no fault in this test.
    #[must_use]
    pub fn expect_log(mut self, part: &str) -> Self {
        self.expected.push(part.into());
        self
    }

    /// Starts the cluster, runs `body` on it, checks what must hold after every test, and takes the cluster down.
    ///
    /// # Errors
    /// When there is no docker engine, image or plugin; when the start, the body or the checks fail: the logs are
    /// printed then.
    pub fn run<T>(self, body: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
        let (cluster, start) = (Cluster::start(self)?, Instant::now());
        let value = body(&cluster)?;
        invariants::check(&cluster)?;
        say(format!("checked; {:.1} s since its nodes were idle", start.elapsed().as_secs_f64()));
        cluster.passed();
        Ok(value)
    }
}

/// A running cluster. Whatever happens to the test, its containers, networks and volumes go with it.
#[derive(Debug)]
pub struct Cluster {
    project: Project,
    login: Host,
    controller: Controller,
    slurm: Version,
    expected: Vec<String>,
    submitted: Mutex<BTreeSet<JobId>>,
    passed: bool,
}

impl Cluster {
    fn start(settings: Settings) -> Result<Self> {
        let project = Project::up(BuiltFiles::find()?, settings.create_time)?;
        let prepared = (|| {
            let login = project.host("login")?;
            let controller = Controller::new(project.host("vipu")?);
            let slurm = login.slurm_version()?;
            Ok((login, controller, slurm))
        })();
        let (login, controller, slurm) =
            prepared.inspect_err(|_: &anyhow::Error| eprintln!("{}", project.log_tails()))?;
        let cluster = Self {
            project,
            login,
            controller,
            slurm,
            expected: settings.expected,
            submitted: Mutex::default(),
            passed: false,
        };
        cluster.await_nodes(&NODES)?;
        Ok(cluster)
    }

    fn passed(mut self) {
        self.passed = true;
    }

    /// The release its hosts run.
    #[must_use]
    pub fn slurm(&self) -> Version {
        self.slurm
    }

    /// Where users and the administrator type their commands.
    #[must_use]
    pub fn login(&self) -> &Host {
        &self.login
    }

    /// The mock controller.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// A host by the name that `docker/compose.yaml` gives it.
    ///
    /// # Errors
    /// When it has no container.
    pub fn host(&self, name: &str) -> Result<Host> {
        self.project.host(name)
    }

    /// A login host more, with files of its own.
    ///
    /// # Errors
    /// When it does not start.
    pub fn spare_login(&self, name: &str) -> Result<SpareLogin> {
        SpareLogin::start(&self.project, name)
    }

    /// One of the plugins that all hosts have, as a file of this machine. Not to be changed.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PathBuf {
        self.project.built().files().join("plugins").join(name)
    }

    /// Pulls the network cable of a host.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn pull_network(&self, host: &Host) -> Result<()> {
        self.project.pull_network(host)
    }

    /// Plugs it in again: same address, same name.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn plug_network(&self, host: &Host) -> Result<()> {
        self.project.plug_network(host)
    }

    /// `scontrol` as root with these arguments; its standard output.
    ///
    /// # Errors
    /// When it fails.
    pub fn scontrol(&self, args: &[&str]) -> Result<String> {
        Ok(self.login.command("scontrol").args(args).success()?.stdout)
    }

    /// A node's state as sinfo shows it, such as `idle` or `down*`.
    ///
    /// # Errors
    /// When slurmctld does not answer.
    pub fn node_state(&self, node: &str) -> Result<String> {
        let shown = self.login.command("sinfo").args(&["-h", "-N", "-n", node, "-o", "%T"]).success()?;
        Ok(shown.stdout.lines().next().unwrap_or_default().to_owned())
    }

    /// Waits until these nodes are idle.
    ///
    /// # Errors
    /// When they are not in time.
    pub fn await_nodes(&self, nodes: &[&str]) -> Result<()> {
        wait_until(&format!("{} to be idle", nodes.join(", ")), START_LIMIT, || {
            let list = nodes.join(",");
            let states = self.login.command("sinfo").args(&["-h", "-N", "-n", &list, "-o", "%T"]).output()?;
            Ok(states.stdout.lines().filter(|state| *state == "idle").count() == nodes.len())
        })
    }

    /// Starts slurmctld's host after it was stopped or killed, and waits until it answers and has heard of its nodes.
    ///
    /// # Errors
    /// When it does not.
    pub fn start_slurmctld(&self) -> Result<()> {
        self.host("slurmctld")?.start()?;
        wait_until("slurmctld to answer", START_LIMIT, || {
            Ok(self.login.command("scontrol").args(&["ping"]).output()?.stdout.contains("UP"))
        })?;
        wait_until("the nodes to answer slurmctld", START_LIMIT, || {
            Ok(!self.scontrol(&["show", "node"])?.contains("SlurmdStartTime=None"))
        })
    }

    /// slurmctld's log up to now, over all its starts.
    ///
    /// # Errors
    /// When the engine has none.
    pub fn slurmctld_log(&self) -> Result<String> {
        self.host("slurmctld")?.log()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.passed {
            eprintln!("{}", self.project.log_tails());
        }
    }
}
