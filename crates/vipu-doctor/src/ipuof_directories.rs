//! The directories of IPUoF files.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::host::{Host, OwnerAndMode, Unseen, can_write};
use crate::models::{ModelFile, settings};
use crate::plugstack::Plugstack;
use crate::slurm_conf::{Slurm, short};

/// The beginning of the name of the file with which slurmctld marks a directory. The ClusterName follows.
const MARK: &str = ".vipu_";

/// A directory of IPUoF files.
pub(crate) struct Directory {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The place that names it: `vipu.conf` or `plugstack.conf:1`.
    pub(crate) named_in: String,
    /// Its owner and mode, or why it cannot be used.
    facts: OwnerAndMode,
    /// Whether its file system has POSIX access control lists.
    pub(crate) has_acls: bool,
    /// The clusters that have marked it.
    clusters: Vec<String>,
}

/// The directories that vipu.conf, the models' files and plugstack.conf name.
pub(crate) fn read(
    host: &Host<'_>,
    models: &[ModelFile],
    plugstack: &Plugstack,
    unseen: &mut Unseen,
) -> Vec<Directory> {
    let of_models = settings(models);
    let of_models = of_models.filter_map(|(model, own)| Some((own.ipuof_dir.clone()?, model.file.clone())));
    let mut named: BTreeMap<PathBuf, String> = of_models.collect();
    // A check compares the two files. On a host without vipu.conf, plugstack.conf alone names the directory.
    if let Some(line) = plugstack.line().filter(|_| named.is_empty())
        && let Some(path) = line.argument("ipuof_dir")
    {
        named.insert(path.into(), short(&line.place));
    }
    named.into_iter().filter_map(|(path, named_in)| directory(host, path, named_in, unseen)).collect()
}

fn directory(host: &Host<'_>, path: PathBuf, named_in: String, unseen: &mut Unseen) -> Option<Directory> {
    let facts = host.directory(&path, unseen)?;
    let place = host.at(&path);
    let (has_acls, clusters) = (has_acls(&place), clusters(&place));
    Some(Directory { path, named_in, facts, has_acls, clusters })
}

/// Whether the file system knows the attribute with an access control list. Only the kernel's answer that it
/// does not counts as no.
fn has_acls(place: &Path) -> bool {
    let asked = xattr::get_deref(place, "system.posix_acl_access");
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

/// SlurmUser can write in the directory, and all users can enter it.
pub(crate) fn permissions(slurm: &Slurm, directories: &[Directory]) -> Vec<Finding> {
    directories.iter().filter_map(|directory| of_directory(slurm, directory)).collect()
}

fn of_directory(slurm: &Slurm, directory: &Directory) -> Option<Finding> {
    let path = directory.path.display().to_string();
    let (owner, mode) = match &directory.facts {
        Ok(facts) => *facts,
        // Users of a login host do not need the directory.
        Err(_) if !slurm.is_controller_host && !slurm.has_ipus => return None,
        Err(why) => {
            let what = format!("cannot use this directory of {}: {why}", directory.named_in);
            return Some(Finding::error(path, what, "mount its file system, or mend the path"));
        }
    };
    if mode & 0o011 != 0o011 {
        let what =
            format!("users cannot enter it (mode {mode:04o}), so that programs do not find their IPUs");
        return Some(Finding::error(&path, what, format!("chmod 755 {path}")));
    }
    if mode & 0o002 != 0 {
        let what = format!("every user can write in it (mode {mode:04o})");
        return Some(Finding::error(&path, what, format!("chmod 755 {path}")));
    }
    let user = slurm.user.filter(|_| slurm.is_controller_host)?;
    let what = format!("it belongs to user {owner}, so that SlurmUser cannot write in it");
    (!can_write(user, owner, mode)).then(|| Finding::error(&path, what, format!("chown {user} {path}")))
}

/// The file system has access control lists, with which only the job's user can read a file.
pub(crate) fn access_lists(directories: &[Directory]) -> Vec<Finding> {
    let usable = directories.iter().filter(|directory| directory.facts.is_ok() && !directory.has_acls);
    let finding = |directory: &Directory| {
        let path = directory.path.display().to_string();
        let what = "its file system has no POSIX ACLs, so that every user can read every IPUoF file";
        Finding::warning(path, what, "mount it with ACLs (option acl), or use Delivery=node")
    };
    usable.map(finding).collect()
}

/// Clusters that share a directory do not share a prefix of partitions.
pub(crate) fn share_no_prefix(
    slurm: &Slurm,
    models: &[ModelFile],
    directories: &[Directory],
) -> Vec<Finding> {
    let own = slurm.value("ClusterName").unwrap_or_default();
    let mut findings = Vec::new();
    for directory in directories {
        let others: Vec<_> =
            directory.clusters.iter().filter(|name| !name.eq_ignore_ascii_case(own)).collect();
        let mut users =
            settings(models).filter(|(_, settings)| settings.ipuof_dir.as_ref() == Some(&directory.path));
        let Some((model, settings)) = users.find(|(_, settings)| settings.partition_prefix == "slurm") else {
            continue;
        };
        if let [first, ..] = others[..] {
            let what = format!(
                "cluster {first} writes in {} too, and this one has the usual PartitionPrefix={}",
                directory.path.display(),
                settings.partition_prefix
            );
            findings.push(Finding::warning(
                &model.file,
                what,
                "give each cluster a PartitionPrefix of its own",
            ));
        }
    }
    findings
}
