//! `cargo xtask kubernetes`: a Kubernetes cluster of this machine that stays up after the command.

use std::{env, io, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use kubernetes_testbed::{Image, Settings};

use crate::{needed_packages, run};

#[derive(Subcommand)]
pub enum Action {
    /// Start a cluster, and print how to use it. The first time builds Kubernetes, which takes minutes.
    Up(Contents),
    /// End it. Leaves nothing of it.
    Down,
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
        Action::Hold(contents) => kubernetes_testbed::hold(&contents.settings()),
        Action::Down if run::is_root() => kubernetes_testbed::down(),
        Action::Down => {
            let mut down = run::as_root(&env::current_exe()?.display().to_string());
            down.args(["kubernetes", "down"]);
            run::visibly(down)
        }
    }
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
