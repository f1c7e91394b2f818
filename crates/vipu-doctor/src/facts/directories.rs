//! The directories of IPUoF files.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{ModelFile, Plugstack, Unseen};
use crate::host::Host;

/// The beginning of the name of the file with which slurmctld marks a directory. The ClusterName follows.
const MARK: &str = ".vipu_";

/// A directory of IPUoF files.
pub(crate) struct Directory {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The place that names it: `vipu.conf` or `plugstack.conf:1`.
    pub(crate) named_in: String,
    /// Its owner and mode, or why it cannot be used.
    pub(crate) facts: Result<(u32, u32), String>,
    /// Whether its file system has POSIX access control lists.
    pub(crate) has_acls: bool,
    /// The clusters that have marked it.
    pub(crate) clusters: Vec<String>,
}

/// The directories that vipu.conf, the models' files and plugstack.conf name.
pub(super) fn read(
    host: &Host<'_>,
    models: &[ModelFile],
    plugstack: &Plugstack,
    unseen: &mut Unseen,
) -> Vec<Directory> {
    let of_model = |model: &ModelFile| {
        let path = model.settings.as_ref().ok()?.ipuof_dir.clone()?;
        Some((path, model.file.clone()))
    };
    let mut named: BTreeMap<PathBuf, String> = models.iter().filter_map(of_model).collect();
    // A check compares the two files. On a host without vipu.conf, plugstack.conf alone names the directory.
    if let (true, Some(path), Some(line)) =
        (named.is_empty(), plugstack.argument("ipuof_dir"), &plugstack.line)
    {
        named.insert(path.into(), line.place.clone());
    }
    named.into_iter().filter_map(|(path, named_in)| directory(host, path, named_in, unseen)).collect()
}

fn directory(host: &Host<'_>, path: PathBuf, named_in: String, unseen: &mut Unseen) -> Option<Directory> {
    let facts = owner_and_mode(host, &path, unseen)?;
    let place = host.at(&path);
    let (has_acls, clusters) = (has_acls(&place), clusters(&place));
    Some(Directory { path, named_in, facts, has_acls, clusters })
}

/// The owner and the mode of a directory, or why it cannot be used. None if it could not be looked at.
pub(super) fn owner_and_mode(
    host: &Host<'_>,
    path: &Path,
    unseen: &mut Unseen,
) -> Option<Result<(u32, u32), String>> {
    match host.at(path).metadata() {
        Ok(facts) if facts.is_dir() => Some(Ok((facts.uid(), facts.mode() & 0o7777))),
        Ok(_) => Some(Err("it is no directory".to_owned())),
        Err(why) if why.kind() == ErrorKind::PermissionDenied => {
            unseen.push((path.display().to_string(), why.to_string()));
            None
        }
        Err(why) => Some(Err(why.to_string())),
    }
}

/// Whether the file system knows the attribute with an access control list. Only the kernel's answer that it
/// does not counts as no.
fn has_acls(place: &Path) -> bool {
    let asked = xattr::get(place, "system.posix_acl_access");
    !asked.is_err_and(|why| why.kind() == ErrorKind::Unsupported)
}

fn clusters(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    // The name of a file that is being written begins with a point, too.
    let names = names.filter(|name| !name.ends_with(".new"));
    let mut found: Vec<_> = names.filter_map(|name| Some(name.strip_prefix(MARK)?.to_owned())).collect();
    found.sort();
    found
}
