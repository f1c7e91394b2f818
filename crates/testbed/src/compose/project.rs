//! A compose project, and the engine that runs it.

use std::{
    env,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Host,
    engine::{ENGINE_LIMIT, docker, find_compose, find_engine, image},
    program::Program,
};
use crate::say;

/// How long it may take for all of them.
const COMPOSE_LIMIT: Duration = Duration::from_secs(180);

/// How much of each log a failed test shows.
const TAIL_LINES: &str = "60";

/// The first two bytes of the networks; the third is chosen.
const NETWORKS: &str = "172.29";

/// How many networks are tried before it is believed that none is free.
const NETWORK_TRIES: u32 = 20;

/// What clusters are made of on this machine.
#[derive(Debug)]
pub(super) struct BuiltFiles {
    compose: &'static [&'static str],
    suite: String,
    files: PathBuf,
    folder: PathBuf,
}

impl BuiltFiles {
    /// Looks for the engine, compose, the image and the plugins.
    pub(super) fn find() -> Result<Self> {
        find_engine()?;
        let compose = find_compose()?;
        let suite = env::var("SUITE").unwrap_or_else(|_| "bookworm".into());
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = env::var_os("VIPU_FILES").map_or_else(|| workspace.join("target/stage"), PathBuf::from);
        let make = format!("make it with `cargo xtask image --suite {suite}`");
        let image = image(&suite);
        let found = docker(&["image", "inspect", "--format", "{{.Id}}", &image]);
        found.with_context(|| format!("the engine has no image {image}: {make}"))?;
        let no_plugins = || format!("there is no {} with plugins/select_vipu.so: {make}", files.display());
        ensure!(files.join("plugins/select_vipu.so").exists(), no_plugins());
        let files = files.canonicalize()?;
        let folder = workspace.join("docker").canonicalize()?;
        Ok(Self { compose, suite, files, folder })
    }

    /// The folder with the configuration files of all hosts.
    pub(super) fn etc(&self) -> PathBuf {
        self.folder.join("etc")
    }

    /// The folder with the plugins and the mock.
    pub(super) fn files(&self) -> &Path {
        &self.files
    }
}

/// The containers, network and volumes of one cluster; all go when this is dropped.
#[derive(Debug)]
pub(super) struct Project {
    built: BuiltFiles,
    name: String,
    subnet: String,
    create_time: Duration,
}

impl Project {
    /// Starts all containers on a network that is free.
    pub(super) fn up(built: BuiltFiles, create_time: Duration) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("vipu-matrix-{}-{number}", process::id());
        let given = env::var("SUBNET").ok();
        let nth_subnet = |n: u32| {
            let chosen = format!("{NETWORKS}.{}", process::id().wrapping_add(number + n) % 256);
            given.clone().unwrap_or(chosen)
        };
        let mut project = Self { built, name, subnet: nth_subnet(0), create_time };
        say(format!("{}: starting Debian {}'s Slurm in containers", project.name, project.built.suite));
        for n in 1..=NETWORK_TRIES {
            let output = project.compose(&["up", "--detach", "--no-build"]).output(COMPOSE_LIMIT)?;
            match output.code {
                0 => return Ok(project),
                _ if output.stderr.contains("overlaps") => project.subnet = nth_subnet(n),
                code => {
                    eprintln!("{}", project.log_tails());
                    bail!("the containers do not start, code {code}: {}", output.stderr)
                }
            }
        }
        bail!("no network is free from {NETWORKS}.0.0/24 on: name one by SUBNET, as in SUBNET=10.3.2")
    }

    fn compose(&self, args: &[&str]) -> Program {
        let folder = self.built.folder.display().to_string();
        let file = self.built.folder.join("compose.yaml").display().to_string();
        let project = ["--project-name", &self.name, "--project-directory", &folder, "--file", &file];
        Program::new(&[self.built.compose, &project[..], args].concat())
            .env("SUITE", &self.built.suite)
            .env("SUBNET", &self.subnet)
            .env("VIPU_FILES", &self.built.files.display().to_string())
            .env("VIPU_CREATE", &format!("{}ms", self.create_time.as_millis()))
    }

    pub(super) fn built(&self) -> &BuiltFiles {
        &self.built
    }

    pub(super) fn image(&self) -> String {
        image(&self.built.suite)
    }

    /// The name of the network or of a volume in the engine.
    pub(super) fn own(&self, what: &str) -> String {
        format!("{}_{what}", self.name)
    }

    pub(super) fn host(&self, service: &str) -> Result<Host> {
        let project = format!("label=com.docker.compose.project={}", self.name);
        let service_label = format!("label=com.docker.compose.service={service}");
        let found = docker(&["ps", "--all", "--quiet", "--filter", &project, "--filter", &service_label])?;
        ensure!(!found.is_empty() && !found.contains('\n'), "'{service}' has no container, or many: {found}");
        Ok(Host::new(service, found))
    }

    pub(super) fn pull_network(&self, host: &Host) -> Result<()> {
        docker(&["network", "disconnect", &self.own("default"), host.id()]).map(drop)
    }

    pub(super) fn plug_network(&self, host: &Host) -> Result<()> {
        // What the container had is forgotten, what compose.yaml gives it is not.
        let hosts = docker(&["inspect", "--format", "{{join .HostConfig.ExtraHosts \"\\n\"}}", host.id()])?;
        let address = hosts.lines().find_map(|line| line.strip_prefix(host.name())?.strip_prefix(':'));
        let address = address.with_context(|| format!("{} has no address in compose.yaml", host.name()))?;
        let network = self.own("default");
        let name = host.name();
        docker(&["network", "connect", "--ip", address, "--alias", name, &network, host.id()]).map(drop)
    }

    /// The ends of all logs.
    pub(super) fn log_tails(&self) -> String {
        let output = self.compose(&["logs", "--no-color", "--tail", TAIL_LINES]).output(ENGINE_LIMIT);
        output.map_or_else(|error| format!("no logs: {error:#}"), |output| output.stdout)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let down = ["down", "--volumes", "--timeout", "0"];
        if let Err(error) = self.compose(&down).success(COMPOSE_LIMIT) {
            eprintln!("{} is still there: {error:#}", self.name);
        }
    }
}
