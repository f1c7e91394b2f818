//! `cargo xtask kubernetes`: a Kubernetes cluster of this machine that stays up after the command.

use std::{env, io, process::Stdio, thread};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use kubernetes_testbed::{Image, Settings};

use crate::test_programs::{self, TestProgram};
use crate::{needed_packages, run};

/// The program of the tests of clusters.
pub const TESTS: &str = "kubernetes";

#[derive(Subcommand)]
pub enum Action {
    /// Start a cluster, and print how to use it. The first time builds Kubernetes, which takes minutes.
    Up(Contents),
    /// End it. Leaves nothing of it.
    Down,
    /// Build the programs and images that tests of clusters need.
    #[command(hide = true)]
    Build,
    /// The process that holds the cluster.
    #[command(hide = true)]
    Hold(Contents),
}

#[derive(Args)]
pub struct Contents {
    /// The number of nodes, each with a kubelet and a containerd.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    nodes: u8,
    /// etcd and the API server alone: no Pod runs.
    #[arg(long, conflicts_with = "nodes")]
    api_only: bool,
    /// Give the nodes the image with OpenMPI, too.
    #[arg(long, conflicts_with = "api_only")]
    openmpi: bool,
}

impl Contents {
    fn settings(&self) -> Settings {
        if self.api_only {
            return Settings::api_only();
        }
        let settings = Settings::nodes(self.nodes);
        if self.openmpi { settings.image(Image::OpenMpi) } else { settings }
    }

    fn options(&self) -> Vec<String> {
        if self.api_only {
            return vec!["--api-only".into()];
        }
        let openmpi = self.openmpi.then(|| "--openmpi".into());
        [format!("--nodes={}", self.nodes)].into_iter().chain(openmpi).collect()
    }
}

pub fn run(action: Action) -> Result<()> {
    match action {
        Action::Up(contents) => up(&contents),
        Action::Build => {
            [Image::Busybox, Image::OpenMpi].iter().try_for_each(|image| image.archive().map(drop))
        }
        Action::Hold(contents) => kubernetes_testbed::hold(&contents.settings()),
        Action::Down if run::is_root() => kubernetes_testbed::down(),
        Action::Down => {
            let mut down = run::as_root(&env::current_exe()?.display().to_string());
            down.args(["kubernetes", "down"]);
            run::visibly(down)
        }
    }
}

/// Begins to build what the tests of clusters need, in a process of low priority, if `filter` selects such a test. The
/// tests wait for it, and build it themselves if it fails.
pub fn begin_build(programs: &[TestProgram], filter: Option<&str>) -> Result<()> {
    let tests = test_programs::end_to_end(programs, TESTS)?.tests(filter)?;
    if tests.is_empty() || !kubernetes_testbed::may_have_nodes() {
        return Ok(());
    }
    needed_packages::install_missing(&needed_packages::KUBERNETES)?;
    let mut build = run::as_root("nice");
    build.args(["-n", "19"]).arg(env::current_exe()?).args(["kubernetes", "build"]);
    let mut build = build.stdin(Stdio::null()).spawn()?;
    // Nobody needs its status.
    thread::spawn(move || build.wait());
    Ok(())
}

/// Starts the holder, and passes on what it prints until it lets go of its output.
fn up(contents: &Contents) -> Result<()> {
    needed_packages::install_missing(&needed_packages::KUBERNETES)?;
    // Each process of the cluster runs on a leash. The testbed alone would be built with other features.
    run::cargo(&["build", "--package", "testbed", "--package", "xtask"])?;
    // A session of its own does not end with that of a terminal.
    let mut holder = run::as_root("setsid");
    holder.arg("--fork").arg(env::current_exe()?).args(["kubernetes", "hold"]).args(contents.options());
    let mut holder = holder.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = holder.stdout.take().context("the holder has no output")?;
    ensure!(io::copy(&mut output, &mut io::stdout())? > 0, "the cluster did not start");
    Ok(())
}
