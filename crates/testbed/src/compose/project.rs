//! A compose project, and the engine that runs it.

use std::{
    env,
    net::SocketAddr,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Host,
    engine::{ENGINE_LIMIT, docker, find_compose, find_engine, image, run},
    host::Shared,
};
use crate::{Output, Settings, say, slurm::next_number};

const COMPOSE_LIMIT: Duration = Duration::from_secs(180);
const TAIL_LINES: &str = "60";

/// The first two bytes of the networks. The third byte is chosen for each cluster.
const NETWORKS: &str = "172.29";

const NETWORK_TRIES: u32 = 20;

/// The containers, network and volumes of one cluster. Dropping the value removes them.
#[derive(Debug)]
pub(super) struct Project {
    compose: &'static [&'static str],
    suite: String,
    /// The folder with the plugins and the mock.
    files: PathBuf,
    /// The folder of `compose.yaml`.
    folder: PathBuf,
    name: String,
    subnet: String,
    create_time: Duration,
    node_role: &'static str,
    shared: Arc<Shared>,
}

impl Project {
    fn find(settings: &Settings) -> Result<Self> {
        find_engine()?;
        let compose = find_compose()?;
        let named = || env::var("SUITE").unwrap_or_else(|_| "bookworm".into());
        let suite = settings.suite.map_or_else(named, str::to_owned);
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = env::var_os("VIPU_FILES").map_or_else(|| workspace.join("target/stage"), PathBuf::from);
        find_image(&suite)?;
        let make = make_image(&suite);
        let no_plugins = || format!("there is no {} with plugins/select_vipu.so: {make}", files.display());
        ensure!(files.join("plugins/select_vipu.so").exists(), no_plugins());
        let files = files.canonicalize()?;
        let folder = workspace.join("docker").canonicalize()?;
        let name = format!("vipu-matrix-{}-{}", process::id(), next_number());
        let shared = Arc::new(Shared::new(format!("{name}_default"))?);
        let (subnet, create_time) = (String::new(), settings.create_time);
        let node_role = if settings.configless { "configless-node" } else { "node" };
        Ok(Self { compose, suite, files, folder, name, subnet, create_time, node_role, shared })
    }

    /// Starts all containers on a network that is free.
    pub(super) fn up(settings: &Settings) -> Result<Self> {
        let mut project = Self::find(settings)?;
        say(format!("{}: starting Debian {}'s Slurm in containers", project.name, project.suite));
        for _ in 0..NETWORK_TRIES {
            let chosen = format!("{NETWORKS}.{}", process::id().wrapping_add(next_number()) % 256);
            project.subnet = env::var("SUBNET").unwrap_or(chosen);
            let output = project.compose(&["up", "--detach", "--no-build"], COMPOSE_LIMIT)?;
            match output.code {
                0 => return Ok(project),
                _ if output.stderr.contains("overlaps") => {}
                code => {
                    eprintln!("{}", project.log_tails());
                    bail!("the containers do not start, code {code}: {}", output.stderr)
                }
            }
        }
        bail!("no network is free from {NETWORKS}.0.0/24 on: name one by SUBNET, as in SUBNET=10.3.2")
    }

    /// Replaces the container of a host by one of another suite's image. The host keeps its name, its address and
    /// its volumes.
    pub(super) fn replace(&self, service: &str, suite: &str) -> Result<()> {
        find_image(suite)?;
        let host = self.host(service)?;
        host.stop()?;
        host.keep_log()?;
        let up = ["up", "--detach", "--no-build", "--no-deps", "--force-recreate", service];
        self.compose_of(suite, &up, COMPOSE_LIMIT)?.succeeded("compose up").map(drop)
    }

    fn compose(&self, args: &[&str], limit: Duration) -> Result<Output> {
        self.compose_of(&self.suite, args, limit)
    }

    fn compose_of(&self, suite: &str, args: &[&str], limit: Duration) -> Result<Output> {
        self.run_with_variables(suite, &[self.compose, args].concat(), limit)
    }

    /// Runs a command with the variables of compose and of `compose.yaml`.
    fn run_with_variables(&self, suite: &str, words: &[&str], limit: Duration) -> Result<Output> {
        let [file, files] =
            [&self.folder.join("compose.yaml"), &self.files].map(|path| path.display().to_string());
        let create = format!("{}ms", self.create_time.as_millis());
        let variables = [
            ("COMPOSE_FILE", file.as_str()),
            ("COMPOSE_PROJECT_NAME", &self.name),
            ("SUITE", suite),
            ("SUBNET", &self.subnet),
            ("VIPU_FILES", &files),
            ("NODE_ROLE", self.node_role),
            ("VIPU_CREATE", &create),
        ];
        run(words, &variables, limit)
    }

    /// Runs a command line of docs/docker.md, with the names of this cluster for those of the page.
    pub(super) fn run_page_line(&self, line: &str) -> Result<Output> {
        let names = [
            ("docker-compose", self.compose.join(" ")),
            ("-p forky", format!("-p {}", self.name)),
            ("SUITE=forky", format!("SUITE={}", self.suite)),
            ("172.30.65", self.subnet.clone()),
            ("172.30.64", self.subnet.clone()),
            ("slurm-vipu_default", self.own("default")),
            ("slurm-vipu_ipu-pod64-004_1", self.host("ipu-pod64-004")?.container().to_owned()),
        ];
        let line = names.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
        self.run_with_variables(&self.suite, &["sh", "-c", &line], COMPOSE_LIMIT)
    }

    /// The control address of the mock, as compose.yaml sets it.
    pub(super) fn mock_control(&self) -> Result<SocketAddr> {
        Ok(format!("{}.10:8091", self.subnet).parse()?)
    }

    pub(super) fn spare_login(&self, name: &str) -> Result<Host> {
        let mounts = [
            format!("{}:/given/etc:ro", self.folder.join("etc").display()),
            format!("{}:/given/vipu:ro", self.files.display()),
            format!("{}:/cluster/keys:ro", self.own("keys")),
            format!("{}:/ipuof", self.own("ipuof")),
            format!("{}:/home", self.own("home")),
        ];
        let become_login = "mkdir --parents /opt/vipu && cp --recursive /given/etc /cluster && \
                            cp --recursive /given/vipu/plugins /opt/vipu && exec cluster-role login";
        let (network, image) = (self.own("default"), image(&self.suite));
        let label = self.label();
        let mut words = vec!["run", "--detach", "--init", "--hostname", name, "--workdir", "/home/alice"];
        words.extend(["--label", &label]);
        words.extend(["--network", &network, "--network-alias", name, "--entrypoint", "bash"]);
        words.extend(mounts.iter().flat_map(|mount| ["--volume", mount]));
        words.extend([&image, "-c", become_login]);
        Ok(Host::new(name, docker(&words)?, &self.shared))
    }

    fn own(&self, what: &str) -> String {
        format!("{}_{what}", self.name)
    }

    fn label(&self) -> String {
        format!("com.docker.compose.project={}", self.name)
    }

    pub(super) fn host(&self, service: &str) -> Result<Host> {
        let [project, service_label] = [self.label(), format!("com.docker.compose.service={service}")]
            .map(|label| format!("label={label}"));
        let found = docker(&[
            "ps",
            "--all",
            "--format",
            "{{.Names}}",
            "--filter",
            &project,
            "--filter",
            &service_label,
        ])?;
        ensure!(!found.is_empty() && !found.contains('\n'), "'{service}' has no container, or many: {found}");
        Ok(Host::new(service, found, &self.shared))
    }

    /// Removes all containers, networks and volumes of the project.
    fn remove(&self) -> Result<()> {
        let containers = docker(&["ps", "--all", "--quiet", "--filter", &format!("label={}", self.label())])?;
        let containers: Vec<_> = containers.lines().collect();
        docker(&[&["rm", "--force"], containers.as_slice()].concat())?;
        self.compose(&["down", "--volumes"], COMPOSE_LIMIT)?.succeeded("compose down").map(drop)
    }

    pub(super) fn log_tails(&self) -> String {
        let output = self.compose(&["logs", "--no-color", "--tail", TAIL_LINES], ENGINE_LIMIT);
        output.map_or_else(|error| format!("no logs: {error:#}"), |output| output.stdout)
    }
}

fn find_image(suite: &str) -> Result<()> {
    let image = image(suite);
    let found = docker(&["image", "inspect", "--format", "{{.Id}}", &image]);
    found.with_context(|| format!("the engine has no image {image}: {}", make_image(suite))).map(drop)
}

fn make_image(suite: &str) -> String {
    format!("make it with `cargo xtask image --suite {suite}`")
}

impl Drop for Project {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.log_tails());
        }
        if let Err(error) = self.remove() {
            eprintln!("{} is still there: {error:#}", self.name);
        }
    }
}
