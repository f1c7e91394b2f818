//! Measures the layout of a Slurm source tree.

mod program;
mod source;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf, absolute},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use slurm_release::{
    CONSTANTS, STRUCTS, Version,
    table_file::{self, Measured},
};
use testbed::programs;

pub use self::source::Source;
use crate::needed_packages;

/// The prefix of the tests that measure the source of Debian's Slurm.
pub const TESTS: &str = "cli_layout";

/// The layouts from which slurm-release is built.
const LAYOUTS: &str = include_str!("../../slurm-release/layouts.json");

pub fn prepare_tests() -> Result<()> {
    needed_packages::install_missing(&needed_packages::LAYOUT_TESTS)
}

pub fn may_test() -> bool {
    programs::find("dpkg-source").is_ok()
}

pub fn run(source: &Path, out: &Path) -> Result<()> {
    let (source, out) = (Source::open(&absolute(source)?)?, absolute(out)?);
    let measured = program::measure(&source)?;
    write(&source, &measured, &out)?;
    println!("Slurm {} measured: {} values", source.name, measured.len() + 1);
    println!("{}", compared(&source, &measured)?);
    println!(
        "written to {}; where it is needed its place is beside slurm.conf on every host that has the plugins, readable by all",
        out.display()
    );
    if source.is_unreleased() {
        println!(
            "note: {} is no release: the file holds for a Slurm built from exactly this tree, though the plugins take it for \
             every {}",
            source.name, source.version
        );
    }
    Ok(())
}

/// Writes the table file after a check that the plugins can read it. Until then an older file stays.
fn write(source: &Source, measured: &Measured, out: &Path) -> Result<()> {
    let mut new = OsString::from(out);
    new.push(".new");
    let new = PathBuf::from(new);
    let readable = || {
        let cannot = || format!("cannot write {}; choose another file with --out", out.display());
        fs::write(&new, table_file::render(source.version, source.soname, measured)).with_context(cannot)?;
        let table = table_file::parse(&fs::read_to_string(&new).with_context(cannot)?)?;
        ensure!(table.release.version == source.version, "it reads as {}", table.release.version);
        fs::rename(&new, out).with_context(cannot)
    };
    readable().inspect_err(|_| {
        // The file may be missing.
        let _ = fs::remove_file(&new);
    })
}

/// Says whether the file is needed, by comparison with the built-in values.
fn compared(source: &Source, measured: &Measured) -> Result<String> {
    let version = source.version;
    let Some((soname, known)) = built_in(version)? else {
        return Ok(format!("slurm-vipu does not know {version} by itself: its hosts need the file"));
    };
    // Both have all of STRUCTS and CONSTANTS.
    let differing = known.iter().filter(|(key, value)| measured[*key] != **value);
    let line = |(key, value)| format!("{key}: built in {value}, here {}", measured[key]);
    let mut differences: Vec<String> = differing.map(line).collect();
    if soname != source.soname {
        differences.push(format!("Soname: built in {soname}, here {}", source.soname));
    }
    if differences.is_empty() {
        return Ok(format!(
            "slurm-vipu knows {version} by itself, with the same values: the file is not needed"
        ));
    }
    Ok(format!(
        "slurm-vipu knows {version} by itself, but {} values differ (is this Slurm patched?): its hosts need the file\n  {}",
        differences.len(),
        differences.join("\n  ")
    ))
}

/// The built-in soname and values. `None` for a release that is not built in.
fn built_in(version: Version) -> Result<Option<(u32, Measured)>> {
    let facts: Value = serde_json::from_str(LAYOUTS).context("layouts.json of slurm-release is damaged")?;
    let Some(id) = facts["releases"][version.to_string()].as_str() else { return Ok(None) };
    let layout = &facts["layouts"][id];
    let mut known = Measured::new();
    for wanted in STRUCTS {
        let found = &layout[wanted.name];
        known.insert(wanted.name.to_owned(), found["size"].to_string());
        for (member, kind) in wanted.members {
            let place = format!("{} {kind}", found["fields"][member][0]);
            known.insert(format!("{}.{member}", wanted.name), place);
        }
    }
    for (name, _) in CONSTANTS {
        known.insert((*name).to_owned(), layout["constants"][name].to_string());
    }
    let soname = facts["libslurm_soname"][version.series().to_string()].as_u64();
    let soname = soname.and_then(|soname| soname.try_into().ok());
    Ok(Some((soname.context("layouts.json of slurm-release lacks a soname")?, known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugins_use_the_built_in_values() {
        for release in slurm_release::RELEASES {
            let (soname, known) = built_in(release.version).unwrap().unwrap();
            let text = table_file::render(release.version, soname, &known);
            let table = table_file::parse(&text).unwrap();
            assert_eq!(table.release.layout, release.layout, "{}", release.version);
            assert_eq!(table.series_of_soname(soname), Some(release.version.series()));
        }
        assert!(built_in(Version(0x1a_05_04)).unwrap().is_none());
    }
}
