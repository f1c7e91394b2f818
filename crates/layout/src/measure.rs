//! What the plugins need to know of a release, out of its headers; and what slurm-vipu knows of it already.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use slurm_release::{CONSTANTS, STRUCTS, Version, table_file::Measured};

use crate::{bindings::Bindings, clang::CONSTANT};

/// What slurm-release is built from.
const LAYOUTS: &str = include_str!("../../slurm-release/layouts.json");

/// Looks up all that goes into the table file.
pub fn measure(bindings: &Bindings) -> Result<Measured> {
    let mut measured = Measured::new();
    let mut missing = Vec::new();
    for wanted in STRUCTS {
        let found = bindings.structure(wanted.c_type);
        let Some((found, size)) = found.and_then(|found| Some((found, found.size()?))) else {
            missing.push(wanted.c_type.to_owned());
            continue;
        };
        measured.insert(wanted.name.to_owned(), size.to_string());
        for (member, _) in wanted.members {
            match found.member(member) {
                Some((offset, kind)) => {
                    drop(measured.insert(format!("{}.{member}", wanted.name), format!("{offset} {kind}")))
                }
                None => missing.push(format!("{}.{member}", wanted.c_type)),
            }
        }
    }
    for (name, _) in CONSTANTS {
        match bindings.constant(&format!("{CONSTANT}{name}")) {
            Some(value) => drop(measured.insert((*name).to_owned(), value.to_string())),
            None => missing.push((*name).to_owned()),
        }
    }
    if !missing.is_empty() {
        bail!("this Slurm has no {}: slurm-vipu has to be adapted", missing.join(", "));
    }
    Ok(measured)
}

/// The same facts, and the soname, as they are built in; `None` for a release that is not.
pub fn built_in(version: Version) -> Result<Option<(u32, Measured)>> {
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

/// What differs, a line each.
pub fn differences(known: &Measured, measured: &Measured) -> Vec<String> {
    let absent = || "absent".to_owned();
    let keys: BTreeSet<_> = known.keys().chain(measured.keys()).collect();
    keys.into_iter()
        .filter(|key| known.get(*key) != measured.get(*key))
        .map(|key| {
            let of = |values: &Measured| values.get(key).cloned().unwrap_or_else(absent);
            format!("{key}: built in {}, here {}", of(known), of(measured))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN_12: Version = Version(0x16_05_08);

    #[test]
    fn what_is_built_in_is_what_the_plugins_use() {
        for release in slurm_release::RELEASES {
            let (soname, known) = built_in(release.version).unwrap().unwrap();
            let text = slurm_release::table_file::render(release.version, soname, &known);
            let table = slurm_release::table_file::parse(&text).unwrap();
            assert_eq!(table.release.layout, release.layout, "{}", release.version);
            assert_eq!(table.series_of_soname(soname), Some(release.version.series()));
        }
        assert!(built_in(Version(0x1a_05_04)).unwrap().is_none());
    }

    #[test]
    fn a_moved_member_is_a_difference() {
        let (_, known) = built_in(DEBIAN_12).unwrap().unwrap();
        assert!(differences(&known, &known).is_empty());
        let mut moved = known.clone();
        moved.insert("job_record.job_id".into(), "368 u32".into());
        moved.remove("NO_LOCK");
        let expected =
            ["NO_LOCK: built in 0, here absent", "job_record.job_id: built in 360 u32, here 368 u32"];
        assert_eq!(differences(&known, &moved), expected);
    }

    #[test]
    fn everything_that_is_missing_is_named() {
        let code = "pub struct part_record_t { pub magic: u32 }
            const _: () = {
                [\"Size of part_record_t\"][0 - 16usize];
                [\"Offset of field: part_record_t::magic\"][0 - 0usize];
            };";
        let error = measure(&Bindings::parse(code).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("this Slurm has no job_record_t, "), "{error}");
        assert!(
            error.contains(", part_record_t.name, ") && !error.contains("part_record_t.magic"),
            "{error}"
        );
        assert!(
            error.contains(", JOB_MAGIC, ") && error.ends_with(": slurm-vipu has to be adapted"),
            "{error}"
        );
    }
}
