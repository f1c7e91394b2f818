//! `cargo xtask image`: the image of a cluster in containers, and the files that its containers mount.
//!
//! The image has Slurm, munge and MariaDB as Debian packs them, and nothing of ours: plugins and mock come
//! from a folder, so that the same files serve every suite, and a rebuilt plugin needs no new image.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use testbed::{compose, programs, say};

use crate::{build, packages, run};

/// The programs that run in containers: the mock controller, and what holds a test's daemons.
const PROGRAMS: [&str; 2] = ["mock-vipu-server", "testbed-leash"];

/// Where Debian's packages are, unless said otherwise.
pub const MIRROR: &str = "http://deb.debian.org/debian";

/// The C library of the oldest suite, Debian 12: what is built on a newer one may not load there.
const OLDEST_GLIBC: Glibc = Glibc(2, 36);

/// A Debian suite, and so a release of Slurm.
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
    /// Debian's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
            Self::Forky => "forky",
        }
    }

    /// The base image, by its public name.
    fn base(self) -> String {
        format!("debian:{}-slim", self.name())
    }

    /// The image of its cluster.
    pub fn image(self) -> String {
        compose::image(self.name())
    }
}

/// Builds what the containers mount, and the image; `mirror` is where Debian's packages are.
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

/// Builds the image.
pub fn build(suite: Suite, mirror: &str) -> Result<()> {
    find_base(suite, mirror)?;
    let mut build =
        docker(&["build", "--tag", &suite.image(), "--build-arg", &format!("BASE={}", suite.base())]);
    build.arg(run::workspace().join("docker"));
    run::visibly(build)
}

/// Puts what was built under its final names, where docker/compose.yaml looks for it by default.
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

/// Copies a file that containers of every suite are to run.
pub fn stage_file(from: &Path, to: &Path) -> Result<()> {
    check_glibc(from)?;
    replace(from, to)
}

/// Copies beside and renames: daemons that run go on with the file that they have.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let beside = to.with_extension("new");
    let copy = || {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::copy(from, &beside)?;
        fs::rename(&beside, to)
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Makes sure that there is a base image: this machine's, a registry's, or one from Debian's packages under
/// the public name.
fn find_base(suite: Suite, mirror: &str) -> Result<()> {
    let base = suite.base();
    let mut inspect = docker(&["image", "inspect", &base]);
    if inspect.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
        return Ok(());
    }
    if docker(&["pull", &base]).stdin(Stdio::null()).status()?.success() {
        return Ok(());
    }
    say(format!("{base} cannot be pulled: making it from the packages of {mirror}"));
    packages::install_missing(&packages::BASE_IMAGE)?;
    let tar = run::workspace().join(format!("target/{}.tar", suite.name()));
    // By way of a file: what an interrupted mmdebstrap has written must not become an image.
    let made = make_root(suite, mirror, &tar).and_then(|()| {
        let mut import = docker(&["import", "--change", "CMD [\"bash\"]", "--change", "ENV LANG=C.UTF-8"]);
        import.arg(&tar).arg(&base);
        run::visibly(import)
    });
    run::as_root("rm").arg("--force").arg(&tar).status()?;
    made.with_context(|| format!("{base} is neither here nor in a registry, and could not be made"))
}

/// A minimal Debian, as a tar file.
fn make_root(suite: Suite, mirror: &str, tar: &Path) -> Result<()> {
    let mut mmdebstrap = run::as_root("mmdebstrap");
    // A frozen mirror's index of a suite that still moves is past its date.
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

/// Refuses a file that needs a newer C library than the oldest suite has.
fn check_glibc(file: &Path) -> Result<()> {
    let output = Command::new("readelf").args(["--version-info", "--wide"]).arg(file).output();
    let output = output.context("cannot run readelf: install binutils")?;
    ensure!(output.status.success(), "readelf cannot read {}", file.display());
    let needed = Glibc::newest(&String::from_utf8_lossy(&output.stdout));
    let needed =
        needed.with_context(|| format!("{} needs no C library: is it built for Linux?", file.display()))?;
    ensure!(
        needed <= OLDEST_GLIBC,
        "{} needs glibc {needed}, and the oldest image has {OLDEST_GLIBC}: build on Debian 12",
        file.display()
    );
    Ok(())
}

/// A version of the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Glibc(u32, u32);

impl Glibc {
    /// The newest that is asked for, in readelf's words.
    fn newest(version_info: &str) -> Option<Self> {
        let names = version_info.split("Name: GLIBC_").skip(1);
        names.filter_map(|rest| Self::parse(rest.split_whitespace().next()?)).max()
    }

    fn parse(version: &str) -> Option<Self> {
        let mut numbers = version.split('.').map(str::parse);
        Some(Self(numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::Glibc;

    #[test]
    fn newest_glibc_is_found_by_number() {
        let needs = "  004:   2 (GLIBC_2.40)   3 (GLIBC_2.14)
  0x0060:   Name: GLIBC_2.2.5  Flags: none  Version: 2
  0x0070:   Name: GLIBC_2.9  Flags: none  Version: 7
  0x00a0:   Name: GLIBC_2.34  Flags: none  Version: 3
  0x00a0:   Name: GLIBC_PRIVATE  Flags: none  Version: 4
  0x00b0:   Name: GCC_3.0  Flags: none  Version: 12\n";
        assert_eq!(Glibc::newest(needs), Some(Glibc(2, 34)));
        assert_eq!(Glibc::newest("No version information found in this file."), None);
    }
}
