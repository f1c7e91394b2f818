//! The Debian packages that the tasks need.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result};
use testbed::{programs, say, wait_until};

use crate::run;

/// How long another package manager may keep us waiting.
const LOCK_LIMIT: Duration = Duration::from_secs(600);

/// What is needed: package, a program it brings (none: Slurm's plugins), why.
type Needed = (&'static str, &'static str, &'static str);

/// What demo and tests run on.
pub const SLURM: [Needed; 5] = [
    ("munge", "munged", "Slurm's daemons and commands prove to each other who they are with it"),
    ("slurmctld", "slurmctld", "Slurm's controller, which loads our plugins"),
    ("slurmd", "slurmd", "Slurm's node daemon, which starts the jobs"),
    ("slurm-client", "sbatch", "sbatch, srun, salloc, squeue, scontrol"),
    ("slurm-wlm-basic-plugins", "", "Slurm's own plugins; ours are layered over its selectors"),
];

/// What `cargo xtask valgrind` runs slurmctld under.
pub const VALGRIND: [Needed; 1] = [("valgrind", "valgrind", "it watches what slurmctld does to its memory")];

/// What the tests in containers run on.
pub const ENGINE: [Needed; 2] = [
    ("docker.io", "docker", "its engine runs the hosts of a cluster as containers"),
    ("docker-compose", "docker-compose", "it starts them together"),
];

/// What a base image is made with where it cannot be pulled.
pub const BASE_IMAGE: [Needed; 1] =
    [("mmdebstrap", "mmdebstrap", "it makes a minimal Debian from Debian's packages")];

/// What the tests of `cargo xtask layout` need.
pub const LAYOUT_TESTS: [Needed; 1] =
    [("dpkg-dev", "dpkg-source", "it unpacks Slurm's source package, which tests measure")];

/// Installs what is missing of these, saying what and why.
pub fn install_missing(needed: &[Needed]) -> Result<()> {
    let is_there = |program: &str| match program {
        "" => programs::stock_plugins().is_ok(),
        program => programs::find(program).is_ok(),
    };
    let missing: Vec<_> = needed.iter().filter(|(_, program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    say("installing from Debian's packages, without touching their configuration:");
    for (package, _, why) in &missing {
        say(format!("  {package}: {why}"));
    }
    // apt-get waits for dpkg's lock by itself, but not for that of its lists.
    wait_until("apt-get update", LOCK_LIMIT, || Ok(apt_get().arg("update").status()?.success()))
        .context("the package lists cannot be read")?;
    let mut install = apt_get();
    install.args(["install", "--yes", "--no-install-recommends"]);
    run::visibly({
        install.args(missing.iter().map(|(package, ..)| package));
        install
    })
}

fn apt_get() -> Command {
    let mut command = run::as_root("env");
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
    command.arg("-o").arg(format!("DPkg::Lock::Timeout={}", LOCK_LIMIT.as_secs()));
    command
}
