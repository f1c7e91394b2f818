//! Whether SlurmUser and the users can read the files that they need. root reads all, and tells nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::host::Host;
use crate::ipuof_directories::Directory;
use crate::models::{ModelFile, settings};
use crate::plugstack::Plugstack;
use crate::slurm_conf::Slurm;

/// A user who needs files.
enum User {
    Slurm { id: u32, groups: Vec<u32> },
    Any,
}

/// SlurmUser reads the files of slurmctld, users read those of Slurm's commands, and both reach IpuofDir.
pub(crate) fn files(
    host: &Host<'_>,
    slurm: &Slurm,
    plugstack: &Plugstack,
    models: &[ModelFile],
    directories: &[Directory],
) -> Vec<Finding> {
    let of_slurm = || slurm.conf.files.iter().map(|file| file.to_path_buf());
    let of_stack = || plugstack.stack.files.iter().map(|file| file.to_path_buf());
    let folders = || directories.iter().filter_map(|directory| Some(directory.path.parent()?.to_owned()));
    let mut findings = Vec::new();
    if let Some(id) = slurm.user.filter(|_| slurm.is_controller_host) {
        let user = User::Slurm { id, groups: (host.groups)(id) };
        // Slurm sends no file that plugstack.conf includes.
        let sent = of_stack().next().filter(|_| slurm.is_configless());
        let needed = of_slurm().chain(sent).chain(of_models(slurm, models)).chain(folders());
        findings.extend(user.findings(host, needed));
    }
    // slurmctld may have a host without users. slurmd gives a file that slurmctld sent its mode.
    if slurm.is_node || !slurm.is_controller_host {
        let needed = of_slurm().chain(of_stack()).filter(|_| !slurm.is_sent());
        let needed = needed.chain(folders().filter(|_| slurm.has_ipus));
        let known: BTreeSet<_> = findings.iter().map(|finding: &Finding| finding.subject.clone()).collect();
        let others = User::Any.findings(host, needed).into_iter();
        findings.extend(others.filter(|finding| !known.contains(&finding.subject)));
    }
    findings
}

/// The files of the models and those that they name. The owner of a key is a check of its own.
fn of_models(slurm: &Slurm, models: &[ModelFile]) -> Vec<PathBuf> {
    let beside = |name: &Path| slurm.folder().join(name);
    let mut needed = vec![beside(Path::new("vipu.conf"))];
    needed.extend(models.iter().map(|model| beside(Path::new(&model.file))));
    for (_, own) in settings(models) {
        needed.extend(own.host_map.iter().map(|file| beside(&file.path)));
        needed.extend([&own.api_tls_ca, &own.api_tls_cert].into_iter().flatten().cloned());
        let keys = [&own.api_tls_key, &own.api_access_file].into_iter().flatten();
        needed.extend(keys.filter_map(|key| Some(key.parent()?.to_owned())));
    }
    needed
}

impl User {
    /// A finding for each path that keeps the user out, with the names of what is behind it.
    fn findings(&self, host: &Host<'_>, needed: impl Iterator<Item = PathBuf>) -> Vec<Finding> {
        let mut behind: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for path in needed {
            if let Some(barrier) = self.barrier(host, &path) {
                behind.entry(barrier).or_default().insert(path.display().to_string());
            }
        }
        behind.iter().filter_map(|(barrier, names)| self.finding(host, barrier, names)).collect()
    }

    fn finding(&self, host: &Host<'_>, barrier: &Path, names: &BTreeSet<String>) -> Option<Finding> {
        let (facts, path) = (host.at(barrier).metadata().ok()?, barrier.display().to_string());
        let (verb, right) = if facts.is_dir() { ("enter", 'x') } else { ("read", 'r') };
        let (name, needs, fix) = match self {
            // What SlurmUser alone needs is not opened to all.
            Self::Slurm { id, .. } => {
                ("SlurmUser", "slurmctld needs", format!("setfacl -m u:{id}:{right} {path}"))
            }
            Self::Any => ("users", "Slurm's commands and tasks need", format!("chmod a+{right} {path}")),
        };
        let behind: Vec<_> = names.iter().filter(|name| **name != path).map(String::as_str).collect();
        let needed = if behind.is_empty() { "it".to_owned() } else { behind.join(", ") };
        let (mode, owner) = (facts.mode() & 0o7777, facts.uid());
        let what = format!("{name} cannot {verb} it (mode {mode:04o} of user {owner}): {needs} {needed}");
        Some(Finding::error(&path, what, fix))
    }

    /// The folder that the user cannot enter, or the file that the user cannot read: the first one on the way to a path,
    /// and then on the way to the target of its links.
    fn barrier(&self, host: &Host<'_>, path: &Path) -> Option<PathBuf> {
        let place = host.at(path);
        let (real_root, real) = (host.root.canonicalize().ok()?, place.canonicalize().ok()?);
        self.barrier_below(&host.root, &place).or_else(|| self.barrier_below(&real_root, &real))
    }

    fn barrier_below(&self, root: &Path, place: &Path) -> Option<PathBuf> {
        let mut way: Vec<_> = place.ancestors().take_while(|path| *path != root).collect();
        way.reverse();
        let barrier =
            way.into_iter().find(|path| path.metadata().is_ok_and(|facts| self.is_kept_out(path, &facts)))?;
        Some(Path::new("/").join(barrier.strip_prefix(root).ok()?))
    }

    /// Whether the mode keeps the user out. An access control list may say otherwise, so that a file with one passes.
    fn is_kept_out(&self, path: &Path, facts: &Metadata) -> bool {
        let has = |name| matches!(xattr::get_deref(path, name), Ok(Some(_)));
        let wanted = if facts.is_dir() { 0o1 } else { 0o4 };
        let of_group = facts.mode() >> 3 & wanted != 0;
        let shift = match self {
            Self::Slurm { id: 0, .. } => return false,
            Self::Slurm { id, .. } if facts.uid() == *id => 6,
            Self::Slurm { groups, .. } if groups.contains(&facts.gid()) => 3,
            // Each group but that of root may have the user.
            Self::Any if facts.gid() != 0 && of_group => 3,
            Self::Slurm { .. } | Self::Any => 0,
        };
        // A list of NFSv4 shows what it gives to somebody as the right of the group.
        let has_list = || has("system.posix_acl_access") || of_group && has("system.nfs4_acl");
        facts.mode() >> shift & wanted == 0 && !has_list()
    }
}
