//! A cluster of containers, one for each host, for tests that need more than one host.
//!
//! The containers are those of `docker/compose.yaml`. Each cluster is a compose project with its own name and
//! network. Clusters of several processes, and remains of a killed cluster, therefore do not disturb each
//! other. These variables choose the release and the files: `SUITE` (a Debian suite, `bookworm` by default),
//! `VIPU_FILES` (the folder that `cargo xtask image` fills, which is also the default), and `SUBNET`, if the
//! networks that are chosen here are in use outside the docker engine.
//!
//! ```no_run
//! # use std::time::Duration;
//! # fn main() -> anyhow::Result<()> {
//! testbed::Cluster::settings().run_in_containers(|cluster| {
//!     let job = cluster.sbatch("sleep 1000", &["-N4", "--no-requeue", "--gres=vipu:pod64:16"])?;
//!     cluster.host("ipu-pod64-002")?.pull_network()?;
//!     let ended = cluster.await_end(job, Duration::from_secs(60))?;
//!     anyhow::ensure!(ended.state == "NODE_FAIL");
//!     Ok(())
//! })
//! # }
//! ```

mod engine;
mod host;
mod project;

use std::time::Duration;

use anyhow::{Result, ensure};
use slurm_release::Version;

use crate::{Account, ClusterCommand, Hosts, Mock, Output, Settings, programs, say, wait_until};

pub use engine::{find_compose, find_engine, image, image_for_packages};
pub use host::Host;
use project::Project;

/// The nodes of `docker/etc/slurm.conf`.
pub const NODES: [&str; 4] = ["ipu-pod64-001", "ipu-pod64-002", "ipu-pod64-003", "ipu-pod64-004"];

/// The user of the image that submits jobs.
pub const USER: &str = "alice";

const START_LIMIT: Duration = Duration::from_secs(90);

pub type Cluster = crate::Cluster<Containers>;

/// The containers of a cluster. They go with their networks and volumes, however the test ends.
#[derive(Debug)]
pub struct Containers {
    project: Project,
    login: Host,
    user: Account,
    mocks: [Mock; 1],
}

impl Settings {
    /// Starts a cluster of containers, runs `body` on it, checks the invariants, and takes the cluster down.
    /// Of these settings it uses the create time, the suite, [`Settings::configless`] and the expected log lines.
    /// Needs a docker engine, the image and the plugins. Prints the logs on a failure.
    pub fn run_in_containers<T>(self, body: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
        let project = Project::up(&self)?;
        let mocks = [Mock::at(project.mock_control()?, 8090)];
        // These are the ids of the first account that useradd makes.
        let user = Account { name: USER.into(), uid: 1000, gid: 1000 };
        let containers = Containers { login: project.host("login")?, project, user, mocks };
        let cluster = Cluster::new(containers, self.expected);
        let ready = cluster.mock().connect(START_LIMIT).and_then(|()| cluster.await_nodes());
        let run = ready.and_then(|()| body(&cluster));
        let outcome = run.and_then(|value| cluster.check_all().map(|()| value));
        match &outcome {
            Ok(_) => say("checked"),
            Err(error) => eprintln!("failed: {error:#}\n{}", cluster.hosts.project.log_tails()),
        }
        outcome
    }
}

impl Cluster {
    pub fn slurm(&self) -> Result<Version> {
        programs::version_shown(&self.scontrol(&["-V"])?)
    }

    /// A host by the name that `docker/compose.yaml` gives it.
    pub fn host(&self, name: &str) -> Result<Host> {
        self.hosts.project.host(name)
    }

    pub fn user(&self) -> &Account {
        &self.hosts.user
    }

    /// The log of slurmctld up to now, over all its starts.
    pub fn slurmctld_log(&self) -> Result<String> {
        self.hosts.slurmctld_logs()
    }

    /// Starts a further login host. Its configuration in `/cluster/etc` and its plugins in `/opt/vipu` are
    /// copies of the files below `/given`.
    pub fn spare_login(&self, name: &str) -> Result<Host> {
        let login = self.hosts.project.spare_login(name)?;
        wait_until(&format!("{name} to reach slurmctld"), START_LIMIT, || {
            ensure!(login.runs()?, "it has ended: {}", login.log()?);
            let ping = login.command("scontrol", self.user()).args(&["ping"]).output()?;
            Ok(ping.stdout.contains("UP"))
        })?;
        Ok(login)
    }

    /// Runs a command line of docs/docker.md. The names of the page stand for those of this cluster. The command has
    /// to succeed.
    pub fn run_page_line(&self, line: &str) -> Result<Output> {
        say(line);
        self.hosts.project.run_page_line(line)?.succeeded(line)
    }

    /// Replaces a host by one with the Slurm of another Debian suite. The new host has only the volumes of the
    /// earlier one.
    pub fn replace_host(&self, name: &str, suite: &str) -> Result<()> {
        say(format!("{name}: replacing it by Debian {suite}'s"));
        self.hosts.project.replace(name, suite)
    }

    /// Starts slurmctld's host again, and waits until slurmctld answers and has heard of its nodes.
    pub fn start_slurmctld(&self) -> Result<()> {
        self.host("slurmctld")?.start()?;
        self.await_slurmctld()
    }
}

impl Hosts for Containers {
    fn command(&self, program: &str) -> ClusterCommand<'_> {
        self.login.command(program, &self.user)
    }

    fn write_script(&self, name: &str, text: &str) -> Result<String> {
        let path = format!("/home/{USER}/{name}");
        let write = ["-c", "printf %s \"$1\" > \"$2\"", "bash", text, &path];
        self.command("bash").args(&write).success()?;
        Ok(path)
    }

    fn job_file(&self, name: &str) -> String {
        let shown = self.command("cat").args(&[&format!("/home/{USER}/{name}")]).output();
        shown.map_or_else(|_| String::new(), |shown| shown.stdout)
    }

    fn ipuof_names(&self) -> Result<Vec<String>> {
        let list = self.command("ls").args(&["-A", "/ipuof"]).success()?.stdout;
        Ok(list.lines().map(str::to_owned).collect())
    }

    fn has_saved(&self, text: &str) -> Result<bool> {
        let slurmctld = self.project.host("slurmctld")?;
        let grep = slurmctld.command("grep", &Account::root()?);
        Ok(grep.args(&["-qa", text, "/var/spool/slurmctld/job_state"]).output()?.code == 0)
    }

    fn slurmctld_lives(&self) -> Result<()> {
        // A crash ends the container, and only a test starts it again.
        ensure!(self.project.host("slurmctld")?.runs()?, "slurmctld's host is down");
        Ok(())
    }

    fn slurmctld_logs(&self) -> Result<String> {
        self.project.host("slurmctld")?.log()
    }

    fn nodes(&self) -> Vec<String> {
        NODES.map(str::to_owned).to_vec()
    }

    fn log_of_node(&self, node: &str) -> Result<String> {
        self.project.host(node)?.log()
    }

    fn mocks(&self) -> &[Mock] {
        &self.mocks
    }
}
