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

/// The id of a user who owns nothing: no file can have it.
const ANY_USER: u32 = u32::MAX;

/// Somebody who needs files.
struct Reader {
    id: u32,
    /// The groups. If they are not known, each group but that of root may have the reader.
    groups: Option<Vec<u32>>,
    /// The name in a finding.
    name: &'static str,
    /// What needs the files, as the beginning of a sentence.
    needs: &'static str,
}

/// A folder that a reader cannot enter, or a file that a reader cannot read.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Barrier {
    path: PathBuf,
    is_folder: bool,
    mode: u32,
    owner: u32,
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
    let folders = || directories.iter().filter_map(|directory| Some(directory.path.parent()?.to_owned()));
    let mut findings = Vec::new();
    if let Some(id) = slurm.user.filter(|_| slurm.is_controller_host) {
        let name = "SlurmUser";
        let reader = Reader { id, groups: Some((host.groups)(id)), name, needs: "slurmctld needs" };
        // Slurm sends no file that plugstack.conf includes.
        let sent = plugstack.files.first().filter(|_| slurm.is_configless()).cloned();
        let needed = of_slurm().chain(sent).chain(of_models(slurm, models)).chain(folders());
        findings.extend(reader.findings(host, needed));
    }
    // slurmctld may have a host without users. slurmd gives a file that slurmctld sent its mode.
    if slurm.is_node || !slurm.is_controller_host {
        let needs = "Slurm's commands and tasks need";
        let reader = Reader { id: ANY_USER, groups: None, name: "users", needs };
        let needed = of_slurm().chain(plugstack.files.iter().cloned()).filter(|_| !slurm.is_sent());
        let needed = needed.chain(folders().filter(|_| slurm.has_ipus));
        let known: BTreeSet<_> = findings.iter().map(|finding: &Finding| finding.subject.clone()).collect();
        let others = reader.findings(host, needed).into_iter();
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

impl Reader {
    /// A finding for each barrier, with the names of what is behind it.
    fn findings(&self, host: &Host<'_>, needed: impl Iterator<Item = PathBuf>) -> Vec<Finding> {
        let mut behind: BTreeMap<Barrier, BTreeSet<String>> = BTreeMap::new();
        for path in needed {
            if let Some(barrier) = self.barrier(host, &path) {
                behind.entry(barrier).or_default().insert(path.display().to_string());
            }
        }
        behind.iter().map(|(barrier, names)| self.finding(barrier, names)).collect()
    }

    fn finding(&self, barrier: &Barrier, names: &BTreeSet<String>) -> Finding {
        let Barrier { path, is_folder, mode, owner } = barrier;
        let path = path.display().to_string();
        let (verb, right) = if *is_folder { ("enter", 'x') } else { ("read", 'r') };
        let behind: Vec<_> = names.iter().filter(|name| **name != path).map(String::as_str).collect();
        let needed = if behind.is_empty() { "it".to_owned() } else { behind.join(", ") };
        let Self { id, name, needs, .. } = self;
        let what = format!("{name} cannot {verb} it (mode {mode:04o} of user {owner}): {needs} {needed}");
        // What SlurmUser alone needs is not opened to all.
        let fix = match *id {
            ANY_USER => format!("chmod a+{right} {path}"),
            id => format!("setfacl -m u:{id}:{right} {path}"),
        };
        Finding::error(&path, what, fix)
    }

    /// The first barrier on the way to a path, and then on the way to the target of its links.
    fn barrier(&self, host: &Host<'_>, path: &Path) -> Option<Barrier> {
        let place = host.at(path);
        let (real_root, real) = (host.root.canonicalize().ok()?, place.canonicalize().ok()?);
        self.barrier_below(&host.root, &place).or_else(|| self.barrier_below(&real_root, &real))
    }

    fn barrier_below(&self, root: &Path, place: &Path) -> Option<Barrier> {
        let mut way: Vec<_> = place.ancestors().take_while(|path| *path != root).collect();
        way.reverse();
        way.into_iter().find_map(|path| {
            let facts = path.metadata().ok()?;
            let path_shown = Path::new("/").join(path.strip_prefix(root).ok()?);
            let (mode, owner) = (facts.mode() & 0o7777, facts.uid());
            let barrier = Barrier { path: path_shown, is_folder: facts.is_dir(), mode, owner };
            self.is_kept_out(path, &facts).then_some(barrier)
        })
    }

    /// Whether the mode keeps the reader out. An access control list may say otherwise, so that a file with one passes.
    fn is_kept_out(&self, path: &Path, facts: &Metadata) -> bool {
        let has = |name| matches!(xattr::get_deref(path, name), Ok(Some(_)));
        let wanted = if facts.is_dir() { 0o1 } else { 0o4 };
        let of_group = facts.mode() >> 3 & wanted != 0;
        let in_group =
            self.groups.as_ref().map_or(facts.gid() != 0 && of_group, |own| own.contains(&facts.gid()));
        let shift = match () {
            () if facts.uid() == self.id => 6,
            () if in_group => 3,
            () => 0,
        };
        // A list of NFSv4 shows what it gives to somebody as the right of the group.
        let has_list = || has("system.posix_acl_access") || of_group && has("system.nfs4_acl");
        self.id != 0 && facts.mode() >> shift & wanted == 0 && !has_list()
    }
}
