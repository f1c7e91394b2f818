//! A Slurm source tree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use slurm_release::{Series, Version};

/// The oldest series whose structs the plugins know.
pub const OLDEST: Series = Series::new(22, 5);

/// The headers that declare the structs. They moved between releases: a tree has one of each pair.
const HEADERS: &[&str] = &[
    "slurm/slurm.h",
    "slurm/slurm_errno.h",
    "slurm/slurmdb.h",
    "src/common/gres.h",
    "src/interfaces/gres.h",
    "src/common/select.h",
    "src/interfaces/select.h",
    "src/common/node_conf.h",
    "src/common/part_record.h",
    "src/common/job_record.h",
    "src/slurmctld/locks.h",
    "src/slurmctld/slurmctld.h",
];

#[derive(Debug)]
pub struct Source {
    pub root: PathBuf,
    /// The release of the tree, or the next one if it is unreleased.
    pub version: Version,
    /// The usual name of the version: `24.05.4`, `24.05.5-0pre1`.
    pub name: String,
    /// The soname number of its libslurm.
    pub soname: u32,
}

impl Source {
    /// Opens the tree at `root`. The tree is never written to.
    pub fn open(root: &Path) -> Result<Self> {
        let not_slurm = || {
            format!(
                "{} is no Slurm source tree: give the folder with META, slurm/ and src/ in it, unpacked from Slurm's tar \
                 file or a distribution's source package",
                root.display()
            )
        };
        let meta = std::fs::read_to_string(root.join("META")).with_context(not_slurm)?;
        ensure!(value(&meta, "Name") == Some("slurm") && root.join("src/slurmctld").is_dir(), not_slurm());
        let (version, soname) = release(&meta).with_context(not_slurm)?;
        let name = match value(&meta, "Release") {
            Some(unreleased) if !is_number(unreleased) => format!("{version}-{unreleased}"),
            _ => version.to_string(),
        };
        if version.series() < OLDEST {
            bail!("{} is Slurm {version}; slurm-vipu needs {OLDEST} or newer", root.display());
        }
        let root = root.canonicalize().with_context(not_slurm)?;
        Ok(Self { root, version, name, soname })
    }

    pub fn is_unreleased(&self) -> bool {
        self.name != self.version.to_string()
    }

    /// The headers to read, relative to the root.
    pub fn headers(&self) -> impl Iterator<Item = &'static str> {
        HEADERS.iter().copied().filter(|header| self.root.join(header).is_file())
    }
}

fn release(meta: &str) -> Result<(Version, u32)> {
    let field = |name: &str| value(meta, name).with_context(|| format!("its META has no {name}"));
    let numbers = format!("{}.{}.{}", field("Major")?, field("Minor")?, field("Micro")?);
    let Ok(version) = numbers.parse() else { bail!("'{numbers}' in its META is no release") };
    let soname = field("API_CURRENT")?;
    Ok((version, soname.parse().with_context(|| format!("API_CURRENT '{soname}' in its META is no number"))?))
}

/// Whether META's `Release` is a number, as in a release. Before a release it is `0pre1` or `0rc1`.
fn is_number(release: &str) -> bool {
    release.bytes().all(|byte| byte.is_ascii_digit())
}

fn value<'a>(meta: &'a str, name: &str) -> Option<&'a str> {
    meta.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.strip_prefix(':')?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str =
        "  Name:		slurm\n  Major:	22\n  Minor:	05\n  Micro:	8\n  Release:	1\n  API_CURRENT:	38\n";

    /// Opens a tree with this META.
    fn open(meta: &str) -> Result<Source, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/slurmctld")).unwrap();
        std::fs::write(folder.path().join("META"), meta).unwrap();
        Source::open(folder.path()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn meta_names_release_and_soname() {
        let source = open(META).unwrap();
        assert_eq!((source.version, source.soname, source.is_unreleased()), (Version(0x16_05_08), 38, false));
        let between = open(&META.replace("Release:\t1", "Release:\t0pre1")).unwrap();
        assert!(between.is_unreleased());
        assert_eq!((between.version, between.name.as_str()), (Version(0x16_05_08), "22.05.8-0pre1"));
    }

    #[test]
    fn other_trees_and_old_releases_are_refused() {
        for (from, to, said) in [
            ("slurm", "munge", "is no Slurm source tree: give the folder"),
            ("API_CURRENT", "API_AGE", "its META has no API_CURRENT"),
            ("22", "21", "is Slurm 21.05.8; slurm-vipu needs 22.05 or newer"),
        ] {
            let error = open(&META.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(Source::open(Path::new("/nowhere")).is_err());
    }
}
