//! `cargo xtask image`: the image of a cluster in containers, and the files that its containers mount.
//!
//! The image has Debian's packages of Slurm, munge and MariaDB, and nothing of ours. Plugins and mock come
//! from a folder, so that one set of files serves every suite, and a rebuilt plugin needs no new image.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use testbed::{compose, programs, say};

use crate::{build, needed_packages, run};

/// The programs that run in containers: the mock controller, the leash of a test's daemons, and those of people.
const PROGRAMS: [&str; 4] = ["mock-vipu-server", "svipu", "slurm-vipu-setup", "testbed-leash"];

pub const MIRROR: &str = "http://deb.debian.org/debian";

/// A Debian suite, which determines the release of Slurm.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Debian 12 with Slurm 22.05.8
    Bookworm,
    /// Debian 13 with Slurm 24.11.5
    Trixie,
    /// Debian testing with Slurm 26.05.5
    Forky,
}

impl Suite {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::Forky => "forky",
        }
    }

    /// The suite of this machine, or the newest if this is another system.
    pub fn of_this_machine() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release")?;
        let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        Ok(name.and_then(|name| Self::from_str(name, true).ok()).unwrap_or(Self::Forky))
    }

    pub fn image(self) -> String {
        compose::image(self.name())
    }
}

pub fn make(suite: Suite, mirror: &str) -> Result<()> {
    compose::find_engine()?;
    build::for_tests()?;
    let staged = stage()?;
    say(format!("plugins and mock are in {}", staged.display()));
    build(suite, mirror)?;
    say(format!(
        "{} is there; to start a cluster: cd docker && SUITE={} docker-compose up -d",
        suite.image(),
        suite.name()
    ));
    Ok(())
}

pub fn build(suite: Suite, mirror: &str) -> Result<()> {
    let base = base(suite, mirror)?;
    let mut build = docker(&["build", "--tag", &suite.image(), "--build-arg", &format!("BASE={base}")]);
    build.arg(run::workspace().join("docker"));
    run::visibly(build)
}

/// Builds the image in which packages are tried, from that of the cluster.
pub fn build_for_packages(suite: Suite) -> Result<()> {
    let folder = run::workspace().join("docker");
    let base = format!("BASE={}", suite.image());
    let tag = compose::image_for_packages(suite.name());
    let mut build = docker(&["build", "--tag", &tag, "--build-arg", &base, "--file"]);
    build.arg(folder.join("packages.Dockerfile")).arg(folder);
    run::visibly(build)
}

/// Copies the built files to their final names, in the folder that docker/compose.yaml uses by default.
pub fn stage() -> Result<PathBuf> {
    let folder = run::workspace().join("target/stage");
    for name in programs::PLUGINS {
        stage_file(&programs::own_plugin(name)?, &folder.join("plugins").join(name))?;
    }
    stage_file(&programs::own_helper()?, &folder.join("plugins").join(programs::HELPER))?;
    let name = programs::WITH_FAILPOINTS;
    stage_file(&programs::test_plugin()?, &folder.join("faults").join(name))?;
    for name in PROGRAMS {
        stage_file(&programs::find(name)?, &folder.join("bin").join(name))?;
    }
    folder.canonicalize().context("the folder with plugins and mock")
}

/// Copies a file beside its destination and renames the copy. Running daemons keep the file that they have.
pub fn stage_file(from: &Path, to: &Path) -> Result<()> {
    let beside = to.with_extension("new");
    let copy = || {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::copy(from, &beside)?;
        fs::rename(&beside, to)
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Provides the image of a suite without anything else: this machine's, a registry's, or one that is made from Debian's
/// packages under the public name. Returns its name.
pub fn base(suite: Suite, mirror: &str) -> Result<String> {
    let base = format!("debian:{}-slim", suite.name());
    let mut inspect = docker(&["image", "inspect", &base]);
    if inspect.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
        return Ok(base);
    }
    if docker(&["pull", &base]).stdin(Stdio::null()).status()?.success() {
        return Ok(base);
    }
    say(format!("{base} cannot be pulled: making it from the packages of {mirror}"));
    needed_packages::install_missing(&needed_packages::BASE_IMAGE)?;
    let tar = run::workspace().join(format!("target/{}.tar", suite.name()));
    // The tar file ensures that the output of an interrupted mmdebstrap does not become an image.
    let made = make_root(suite, mirror, &tar).and_then(|()| {
        let mut import = docker(&["import", "--change", "CMD [\"bash\"]", "--change", "ENV LANG=C.UTF-8"]);
        import.arg(&tar).arg(&base);
        run::visibly(import)
    });
    run::as_root("rm").arg("--force").arg(&tar).status()?;
    made.with_context(|| format!("{base} is neither here nor in a registry, and could not be made"))?;
    Ok(base)
}

fn make_root(suite: Suite, mirror: &str, tar: &Path) -> Result<()> {
    let mut mmdebstrap = run::as_root("mmdebstrap");
    // The index of a moving suite on a frozen mirror is past its date.
    mmdebstrap.args(["--variant=minbase", "--include=ca-certificates"]);
    mmdebstrap.arg("--aptopt=Acquire::Check-Valid-Until \"false\"");
    mmdebstrap.arg(suite.name()).arg(tar).arg(mirror);
    run::visibly(mmdebstrap)
}

pub fn docker(args: &[&str]) -> Command {
    let mut docker = Command::new("docker");
    docker.args(args);
    docker
}
