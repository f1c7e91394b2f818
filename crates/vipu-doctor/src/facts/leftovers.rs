//! What the vendor's ways of using IPUs under Slurm left behind.

use std::path::{Path, PathBuf};

use super::Slurm;
use super::slurm::short;
use crate::host::{Host, read_text};

/// The keys of slurm.conf with programs that run around jobs.
const PROGRAMS: [&str; 8] = [
    "Prolog",
    "Epilog",
    "PrologSlurmctld",
    "EpilogSlurmctld",
    "TaskProlog",
    "TaskEpilog",
    "SrunProlog",
    "SrunEpilog",
];

/// The words that only a script for IPUs has.
const WORDS: [&str; 6] =
    ["vipu-cli", "vipu-admin", "vipu create", "vipu remove", "IPUOF_VIPU_API_", "ipum.allocs"];

/// The file that maps hosts to IPU-Machines.
const ALLOCATIONS: &str = "ipum.allocs";

/// What one of the vendor's ways left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// A script that makes partitions or tells programs of a partition.
    Script {
        /// The key that names it.
        key: String,
        /// The line of slurm.conf.
        place: String,
        /// The script.
        path: PathBuf,
        /// The word that it has.
        word: &'static str,
    },
    /// job_submit.lua, which Slurm runs.
    SubmitScript(PathBuf, &'static str),
    /// A key of slurm.conf that stock Slurm refuses.
    Key {
        /// The key.
        key: String,
        /// The line of slurm.conf.
        place: String,
    },
    /// The file that maps hosts to IPU-Machines.
    Allocations(PathBuf),
}

/// Looks for leftovers. A file that cannot be read tells nothing.
pub(super) fn find(host: &Host<'_>, slurm: &Slurm) -> Vec<Leftover> {
    let mut found = Vec::new();
    for line in &slurm.conf.lines {
        let (key, place) = (line.pair.key.clone(), short(&line.place));
        if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("vipu")) {
            found.push(Leftover::Key { key, place });
        } else if PROGRAMS.iter().any(|program| line.pair.is(program)) {
            let script =
                |(path, word)| Leftover::Script { key: key.clone(), place: place.clone(), path, word };
            found.extend(programs(host, &line.pair.value).into_iter().map(script));
        }
    }
    let lua = slurm.folder().join("job_submit.lua");
    if let Some(word) =
        word_in(host, &lua, &["vipu", "ipum.allocs"]).filter(|_| slurm.lists("JobSubmitPlugins", "lua"))
    {
        found.push(Leftover::SubmitScript(lua, word));
    }
    let allocations = slurm.folder().join(ALLOCATIONS);
    if host.at(&allocations).exists() {
        found.push(Leftover::Allocations(allocations));
    }
    found
}

/// The scripts of a key that have one of the words. The value may be a pattern.
fn programs(host: &Host<'_>, value: &str) -> Vec<(PathBuf, &'static str)> {
    let paths = slurm_conf::Files::matching(&mut &*host, Path::new(value));
    paths.into_iter().filter_map(|path| Some((path.clone(), word_in(host, &path, &WORDS)?))).collect()
}

fn word_in(host: &Host<'_>, path: &Path, words: &[&'static str]) -> Option<&'static str> {
    let text = read_text(&host.at(path)).ok()?;
    words.iter().copied().find(|word| text.contains(word))
}
