//! What the vendor's ways of using IPUs under Slurm left behind.

use std::path::{Path, PathBuf};

use slurm_conf::PROGRAMS_AROUND_JOBS;

use crate::finding::Finding;
use crate::host::{Host, read_text};
use crate::slurm_conf::{Slurm, short};

/// The words that only a script for IPUs has.
const WORDS: [&str; 6] =
    ["vipu-cli", "vipu-admin", "vipu create", "vipu remove", "IPUOF_VIPU_API_", "ipum.allocs"];

/// The file that maps hosts to IPU-Machines.
const ALLOCATIONS: &str = "ipum.allocs";

/// Nothing else makes partitions, tells programs of partitions, or keeps Slurm from starting. A file that cannot be
/// read tells nothing.
pub(crate) fn all(host: &Host<'_>, slurm: &Slurm) -> Vec<Finding> {
    let mut found = Vec::new();
    for line in &slurm.conf.lines {
        let (key, place) = (&line.pair.key, short(&line.place));
        if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("vipu")) {
            found.push(vendor_key(key, place));
        } else if PROGRAMS_AROUND_JOBS.iter().any(|program| line.pair.is(program)) {
            found.extend(programs(host, &line.pair.value).into_iter().map(|(path, word)| {
                let path = path.display();
                let what =
                    format!("{key} {path} has {word}: it makes partitions or names one beside slurm-vipu");
                Finding::warning(&place, what, "remove the part about IPUs from the script, or the line")
            }));
        }
    }
    let lua = slurm.folder().join("job_submit.lua");
    if let Some(word) =
        word_in(host, &lua, &["vipu", "ipum.allocs"]).filter(|_| slurm.lists("JobSubmitPlugins", "lua"))
    {
        let what = format!("it has {word}: it may change requests for IPUs before slurm-vipu sees them");
        let fix = "remove the part about IPUs from the script";
        found.push(Finding::warning(lua.display().to_string(), what, fix));
    }
    let allocations = slurm.folder().join(ALLOCATIONS);
    if host.at(&allocations).exists() {
        let what = "it maps hosts to IPU-Machines for the vendor's scripts, and slurm-vipu does not read it";
        let fix = "remove it when no script uses it";
        found.push(Finding::hint(allocations.display().to_string(), what, fix));
    }
    found
}

/// The finding about a key that stock Slurm refuses.
fn vendor_key(key: &str, place: String) -> Finding {
    if key.eq_ignore_ascii_case("VipuIpuofDir") {
        let what = "stock Slurm refuses VipuIpuofDir, which the vendor's plugin had";
        return Finding::error(place, what, "move the line to vipu.conf");
    }
    let fix = "remove the line; docs/configuration.md has the keys of vipu.conf";
    Finding::error(place, format!("stock Slurm refuses {key}"), fix)
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
