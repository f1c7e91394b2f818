//! The releases and their layouts, read from `layouts.json` without the plugins' code.

use std::sync::LazyLock;

use serde_json::Value;
use slurm_release::table_file::Measured;
use slurm_release::{CONSTANTS, STRUCTS};

static TABLE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../slurm-release/layouts.json")).unwrap());

/// Releases that are in no table: name, soname number of their libslurm, and the release with their layout in
/// this test.
const UNKNOWN: [(&str, u64, &str); 2] = [("26.05.4", 45, "26.05.3"), ("27.11.0", 47, "26.05.5")];

/// A release of Slurm, known or not.
pub struct Release {
    /// The release's name, for example `22.05.8`.
    pub name: String,
    /// `SLURM_VERSION_NUMBER`
    pub version: u32,
    /// The series as a number, for example 2205 for 22.05.
    pub series: u32,
    /// The number in the name of its libslurm.
    pub soname: u64,
    layout: &'static Value,
}

impl Release {
    /// Returns the release with this name.
    pub fn named(name: &str) -> Self {
        let numbers: Vec<u32> = name.split('.').map(|number| number.parse().unwrap()).collect();
        let [major, minor, micro] = numbers[..] else { panic!("{name} is no release") };
        let unknown = UNKNOWN.iter().find(|(unknown, ..)| *unknown == name);
        let soname = unknown.map(|(_, soname, _)| *soname);
        let laid_out_like = unknown.map_or(name, |(.., like)| like);
        Self {
            name: name.to_owned(),
            version: major << 16 | minor << 8 | micro,
            series: major * 100 + minor,
            soname: soname
                .unwrap_or_else(|| TABLE["libslurm_soname"][&name[..5]].as_u64().expect("a soname")),
            layout: &TABLE["layouts"][TABLE["releases"][laid_out_like].as_str().expect("a layout")],
        }
    }

    /// Returns every known release, oldest first.
    pub fn all() -> Vec<Self> {
        let names = TABLE["releases"].as_object().unwrap().keys();
        let mut all: Vec<_> = names.map(|name| Self::named(name)).collect();
        all.sort_by_key(|release| release.version);
        all
    }

    /// Returns the last known release of each series.
    pub fn last_of_each_series() -> Vec<Self> {
        let mut all = Self::all();
        all.reverse();
        all.dedup_by_key(|release| release.series);
        all
    }

    /// Returns the number of bytes of one of Slurm's structs.
    pub fn size(&self, kind: &str) -> usize {
        number(&self.layout[kind]["size"])
    }

    /// Returns the offset and the number of bytes of a member; `None` if this release does not have it.
    pub fn member(&self, kind: &str, name: &str) -> Option<(usize, usize)> {
        let place = &self.layout[kind]["fields"][name];
        (!place.is_null()).then(|| (number(&place[0]), number(&place[1])))
    }

    /// Returns a constant of Slurm's headers.
    pub fn constant(&self, name: &str) -> u32 {
        u32::try_from(number(&self.layout["constants"][name])).unwrap()
    }

    /// Returns the result that `cargo xtask layout` would have.
    pub fn measured(&self) -> Measured {
        let mut measured = Measured::new();
        for found in STRUCTS {
            measured.insert(found.name.into(), self.size(found.name).to_string());
            for (member, kind) in found.members {
                let (offset, _) = self.member(found.name, member).expect("a member that the plugins use");
                measured.insert(format!("{}.{member}", found.name), format!("{offset} {kind}"));
            }
        }
        measured.extend(CONSTANTS.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())));
        measured
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or_else(|| panic!("{value} in layouts.json"))).unwrap()
}
