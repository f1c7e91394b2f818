//! `cargo xtask dist`: packages for sites, in target/dist.
//!
//! One set of files serves Debian's and Red Hat's families and every Slurm of docs/releases.md. The objects need nothing
//! above glibc 2.28. Two builds of one commit give the same bytes, in whatever folders.

mod archive;
mod build;
mod contents;
mod deb;
mod glibc;
mod images;
mod licences;
mod linked;
mod rpm;
mod sbom;
mod scripts;
mod staging;
#[cfg(test)]
mod tests;
mod trial;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum as _;
use testbed::{compose, say};

use self::contents::PACKAGES;
pub use self::images::Names;
use self::staging::{Family, Parts};
use crate::image::{self, Suite};
use crate::pool::Work;
use crate::test_programs::TestProgram;
use crate::{matrix, needed_packages, run};

/// What every package says of itself.
pub struct Release {
    pub version: &'static str,
    /// The time of all files, in seconds since 1970.
    pub time: u64,
    /// From 0, which is fast, to 9, which is small.
    pub compression: u8,
}

/// For packages that are kept, and for those that are only tried.
const SMALL: u8 = 7;
const FAST: u8 = 0;

impl Release {
    /// The time in a form of `date`, in UTC and in English.
    fn date(&self, form: &str) -> Result<String> {
        let mut date = Command::new("date");
        date.args(["--utc", "--date", &format!("@{}", self.time), &format!("+{form}")]).env("LC_ALL", "C");
        Ok(String::from_utf8(date.output()?.stdout)?.trim().to_owned())
    }
}

/// The file with the checksums.
const CHECKSUMS: &str = "SHA256SUMS";

/// The folder of the packages.
pub const OUT: &str = "target/dist";

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds the objects, and makes the packages in `out`. Returns the folder of the objects.
pub fn run(out: &Path) -> Result<PathBuf> {
    let earlier = earlier_packages(out)?;
    let built = shipped_objects()?;
    earlier.iter().try_for_each(fs::remove_file)?;
    package(&built, VERSION, SMALL, out)?;
    say(format!("the packages are in {}", out.display()));
    Ok(built)
}

/// As [`run()`]. Returns the tests that install the packages in containers of each suite.
pub fn trial_of_shipped_objects(out: &Path, tests: &[TestProgram]) -> Result<Vec<Work>> {
    compose::find_engine()?;
    let built = run(out)?;
    matrix::make_images(Suite::value_variants(), image::MIRROR)?;
    trial::works(&built, out, Suite::value_variants(), tests)
}

/// Builds the objects, and makes images of the project's parts.
pub fn make_images(suite: Suite, mirror: &str, names: &Names) -> Result<()> {
    compose::find_engine()?;
    images::make(&shipped_objects()?, suite, mirror, names)
}

/// Builds the objects for sites, unless they are built. Returns their folder.
fn shipped_objects() -> Result<PathBuf> {
    needed_packages::install_missing(&needed_packages::DIST)?;
    let built = build::objects()?;
    glibc::check(&built)?;
    Ok(built)
}

/// Makes packages of the objects that the tests have built. Returns their trial on the suite of this machine, whose glibc
/// they may need.
pub fn trial_of_tested_objects(tests: &[TestProgram]) -> Result<Vec<Work>> {
    needed_packages::install_missing(&needed_packages::DIST)?;
    let (built, suite) = (build::tested_objects()?, Suite::of_this_machine()?);
    let out = run::workspace().join("target/tried-packages");
    earlier_packages(&out)?.iter().try_for_each(fs::remove_file)?;
    package(&built, VERSION, FAST, &out)?;
    image::build(suite, image::MIRROR)?;
    trial::works(&built, &out, &[suite], tests)
}

/// The files in a folder of packages, which new ones replace. A folder with anything else stays as it is.
fn earlier_packages(out: &Path) -> Result<Vec<PathBuf>> {
    let names = if out.exists() { file_names(out)? } else { Vec::new() };
    for name in &names {
        let text = name.to_string_lossy();
        ensure!(
            out.join(name).is_file() && (text == CHECKSUMS || text.starts_with("slurm-vipu-")),
            "{} has {text}, which is no package; choose another folder with --out",
            out.display()
        );
    }
    Ok(names.iter().map(|name| out.join(name)).collect())
}

/// Makes the packages of built objects.
fn package(built: &Path, version: &'static str, compression: u8, out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    let (release, work) = (&Release { version, time: time()?, compression }, tempfile::tempdir()?);
    let parts = Parts { built: built.to_owned(), documents: work.path().join("documents") };
    write_documents(release, &parts.documents)?;
    fs::copy(parts.documents.join(sbom::file_name(release)), out.join(sbom::file_name(release)))?;
    for package in PACKAGES {
        let tree = |family: Family| {
            let tree = work.path().join(format!("{}-{family:?}", package.name));
            staging::stage(package, family, &parts, &tree).map(|()| tree)
        };
        deb::make(package, release, &tree(Family::Debian)?, out)?;
        rpm::make(package, release, &tree(Family::RedHat)?, work.path(), out)?;
    }
    let all = work.path().join("all");
    PACKAGES.iter().try_for_each(|package| staging::stage(package, Family::Any, &parts, &all))?;
    archive::make(release, &all, out)?;
    checksums(out)
}

/// Writes what the objects contain, and under which licences.
fn write_documents(release: &Release, documents: &Path) -> Result<()> {
    fs::create_dir_all(documents)?;
    let crates = linked::crates()?;
    fs::write(documents.join(sbom::file_name(release)), sbom::document(release, &crates)?)?;
    let licences = documents.join(licences::FILE);
    fs::write(&licences, licences::document(&crates)?)?;
    staging::gzip(&licences)
}

/// The time of the commit, or the one that the environment gives, as other build tools take it.
fn time() -> Result<u64> {
    if let Ok(given) = env::var("SOURCE_DATE_EPOCH") {
        return given.parse().context("SOURCE_DATE_EPOCH is no number of seconds");
    }
    let output = run::git(&["log", "-1", "--format=%ct"]).output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim()
        .parse()
        .context("the time of the commit is unknown: this is no git checkout; set SOURCE_DATE_EPOCH")
}

/// Writes the checksums of all files.
fn checksums(out: &Path) -> Result<()> {
    let mut names = file_names(out)?;
    names.sort();
    let output = Command::new("sha256sum").args(&names).current_dir(out).output()?;
    ensure!(output.status.success(), "sha256sum failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(fs::write(out.join(CHECKSUMS), output.stdout)?)
}

fn file_names(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().into())).collect()
}
