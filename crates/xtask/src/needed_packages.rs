//! The Debian packages that the tasks need.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result};
use testbed::{programs, say, wait_until};

use crate::run;

const LOCK_LIMIT: Duration = Duration::from_secs(600);

/// A needed package: its name, a program in it (empty for Slurm's plugins), the reason.
type Needed = (&'static str, &'static str, &'static str);

pub const SLURM: [Needed; 5] = [
    ("munge", "munged", "Slurm's daemons and commands prove to each other who they are with it"),
    ("slurmctld", "slurmctld", "Slurm's controller, which loads our plugins"),
    ("slurmd", "slurmd", "Slurm's node daemon, which starts the jobs"),
    ("slurm-client", "sbatch", "sbatch, srun, salloc, squeue, scontrol"),
    ("slurm-wlm-basic-plugins", "", "Slurm's own plugins; ours are layered over its selectors"),
];

/// The packages for tests of accounting, beside those of Slurm.
pub const ACCOUNTING: [Needed; 3] = [
    ("slurmdbd", "slurmdbd", "Slurm's accounting daemon"),
    ("mariadb-server-core", "mariadbd", "slurmdbd's database; the package starts no server"),
    ("mariadb-client-core", "mariadb", "tests put jobs back in time in slurmdbd's database"),
];

/// The packages for tests of jobs in containers.
pub const CONTAINERS: [Needed; 4] = [
    ("runc", "runc", "it runs the containers of Slurm's --container"),
    ("podman", "podman", "tests run a job's program in its containers"),
    ("charliecloud-runtime", "ch-run", "tests run a job's program in its containers"),
    ("busybox-static", "busybox", "the only program of the containers"),
];

/// The packages for tests of the files in packages/site, and of the diff of svipu migrate.
pub const SITE_TOOLS: [Needed; 5] = [
    ("lmod", "/usr/share/lmod/lmod/init/bash", "it loads the module of a Poplar SDK"),
    ("ruby", "ruby", "it renders an app of Open OnDemand"),
    ("ansible-core", "ansible-playbook", "it runs the role that sets up hosts"),
    ("logrotate", "logrotate", "it rotates the logs of a cluster"),
    ("patch", "patch", "it applies the diff of svipu migrate"),
];

/// Needed if Python lacks `ensurepip`. It has no program of its own.
pub const PYTHON: [Needed; 1] =
    [("python3-venv", "python3-venv", "Zig gets a Python environment of its own")];

/// The programs that make packages for sites.
pub const DIST: [Needed; 4] = [
    ("python3", "python3", "it installs Zig, which links against an old glibc"),
    ("dpkg", "dpkg-deb", "it makes Debian packages"),
    ("rpm", "rpmbuild", "it makes packages for Red Hat's family"),
    ("gzip", "gzip", "it compresses man pages"),
];

pub const VALGRIND: [Needed; 1] = [("valgrind", "valgrind", "it watches what slurmctld does to its memory")];

pub const ENGINE: [Needed; 2] = [
    ("docker.io", "docker", "its engine runs the hosts of a cluster as containers"),
    ("docker-compose", "docker-compose", "it starts them together"),
];

/// The package that makes a base image where it cannot be pulled.
pub const BASE_IMAGE: [Needed; 1] =
    [("mmdebstrap", "mmdebstrap", "it makes a minimal Debian from Debian's packages")];

pub const LAYOUT_TESTS: [Needed; 1] =
    [("dpkg-dev", "dpkg-source", "it unpacks Slurm's source package, which tests measure")];

/// What builds the programs and images of a Kubernetes cluster. The rest is unpacked, not installed.
pub const KUBERNETES: [Needed; 2] = [
    ("dpkg-dev", "dpkg-source", "it unpacks the source package of Kubernetes"),
    ("mmdebstrap", "mmdebstrap", "it makes the images of Pods from Debian's packages"),
];

/// Installs what the tests of this machine need.
pub fn install_for_tests() -> Result<()> {
    install_missing(&[&SLURM[..], &ACCOUNTING, &CONTAINERS, &SITE_TOOLS].concat())
}

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
    update_lists()?;
    let mut install = apt_get();
    install.args(["install", "--yes", "--no-install-recommends"]);
    run::visibly({
        install.args(missing.iter().map(|(package, ..)| package));
        install
    })
}

/// Unpacks a package below target/, where nothing of it is configured or started. Returns the folder.
pub fn unpack(package: &str, why: &str) -> Result<PathBuf> {
    let folder = run::workspace().join("target").join(package);
    if folder.join("usr").exists() {
        return Ok(folder);
    }
    say(format!("unpacking from Debian's packages, without installing it: {package}: {why}"));
    update_lists()?;
    fs::create_dir_all(&folder)?;
    let mut download = apt_get();
    download.args(["download", package]).current_dir(&folder);
    run::visibly(download)?;
    let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let archive = files.iter().find(|file| file.extension().is_some_and(|extension| extension == "deb"));
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(archive.context("apt-get has downloaded nothing")?).arg(&folder);
    run::visibly(extract)?;
    Ok(folder)
}

fn update_lists() -> Result<()> {
    // apt-get waits for dpkg's lock, but not for the lock of its lists.
    wait_until("apt-get update", LOCK_LIMIT, || Ok(apt_get().arg("update").status()?.success()))
        .context("the package lists cannot be read")
}

fn apt_get() -> Command {
    let mut command = run::as_root("env");
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
    command.arg("-o").arg(format!("DPkg::Lock::Timeout={}", LOCK_LIMIT.as_secs()));
    command
}
