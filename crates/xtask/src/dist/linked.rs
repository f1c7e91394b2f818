//! The crates that are linked into the shipped objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::build;
use crate::run;

/// A crate, or the standard library.
#[derive(Debug)]
pub struct Crate {
    pub name: String,
    pub version: String,
    /// Its licences, as an SPDX expression.
    pub licence: String,
    /// The folder of its Cargo.toml. The standard library has none here.
    pub folder: Option<PathBuf>,
    /// The checksum of its archive on crates.io, for a crate of others.
    pub checksum: Option<String>,
}

impl Crate {
    /// Whether it is not a crate of this project.
    pub fn is_of_others(&self) -> bool {
        self.checksum.is_some() || self.folder.is_none()
    }
}

/// All linked crates, by name.
pub fn crates() -> Result<Vec<Crate>> {
    let (linked, checksums) = (linked()?, checksums()?);
    let all = read(&["metadata", "--locked", "--format-version=1", "--filter-platform", build::TARGET])?;
    let all: Value = serde_json::from_str(&all)?;
    let all = all["packages"].as_array().context("cargo metadata names no packages")?;
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let mut crates = vec![standard_library()?];
    for package in all {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let id = format!("{name} v{version}");
        if !linked.contains(&id) {
            continue;
        }
        let licence = text(package, "license").replace(" / ", " OR ").replace('/', " OR ");
        ensure!(!licence.is_empty(), "the Cargo.toml of {id} has no `license`");
        let folder = PathBuf::from(text(package, "manifest_path")).parent().map(PathBuf::from);
        let checksum = checksums.get(&id).cloned();
        crates.push(Crate { name, version, licence, folder, checksum });
    }
    ensure!(crates.len() > linked.len(), "cargo metadata lacks crates of cargo tree");
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(crates)
}

/// The crates that cargo links, as `serde v1.0.0`. Build scripts, macros and what only they need are not among them.
fn linked() -> Result<BTreeSet<String>> {
    let mut words = vec!["tree", "--locked", "--target", build::TARGET, "--edges=normal,no-proc-macro"];
    words.extend(["--prefix=none", "--no-dedupe", "--format={p}"]);
    words.extend(build::packages());
    let tree = read(&words)?;
    // The folder of a crate of ours follows it.
    let id = |line: &str| line.split(" (").next().unwrap_or_default().to_owned();
    Ok(tree.lines().filter(|line| !line.is_empty()).map(id).collect())
}

fn checksums() -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = fs::read_to_string(run::workspace().join("Cargo.lock"))?.parse()?;
    let packages =
        lock.get("package").and_then(|packages| packages.as_array()).context("Cargo.lock is empty")?;
    let checksum = |package: &toml::Value| {
        let text = |field| package.get(field)?.as_str();
        Some((format!("{} v{}", text("name")?, text("version")?), text("checksum")?.to_owned()))
    };
    Ok(packages.iter().filter_map(checksum).collect())
}

fn standard_library() -> Result<Crate> {
    let output = Command::new("rustc").arg("-vV").current_dir(run::workspace()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let release = text.lines().find_map(|line| line.strip_prefix("release: "));
    let version = release.context("rustc does not tell its release")?.to_owned();
    Ok(Crate {
        name: "std".into(),
        version,
        licence: "MIT OR Apache-2.0".into(),
        folder: None,
        checksum: None,
    })
}

fn read(cargo: &[&str]) -> Result<String> {
    let output = run::cargo_command(cargo).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo {}: {}", cargo[0], String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
