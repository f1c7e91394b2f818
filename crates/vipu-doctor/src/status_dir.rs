//! The directory and the group of the status document, if vipu.conf names them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use vipu_status::file_names;

use crate::finding::Finding;
use crate::host::{Host, OwnerAndMode, Unseen, can_write};
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// SlurmUser can write in each StatusDir that is no IpuofDir, and users can enter it. Only slurmctld needs them.
pub(crate) fn directories(
    host: &Host<'_>,
    slurm: &Slurm,
    models: &[ModelFile],
    unseen: &mut Unseen,
) -> Vec<Finding> {
    let ipuof_dirs: BTreeSet<_> = settings(models).filter_map(|(_, own)| own.ipuof_dir.as_ref()).collect();
    let (mut known, mut findings) = (BTreeSet::new(), Vec::new());
    for (model, own) in settings(models).filter(|_| slurm.is_controller_host) {
        let Some(path) = &own.status_dir else { continue };
        if ipuof_dirs.contains(path) || known.contains(path) {
            continue;
        }
        if let Some(facts) = host.directory(path, unseen) {
            known.insert(path);
            findings.extend(of_directory(slurm, path.display().to_string(), &model.file, facts));
        }
    }
    findings
}

fn of_directory(slurm: &Slurm, path: String, named_in: &str, facts: OwnerAndMode) -> Option<Finding> {
    let (owner, mode) = match facts {
        Ok(facts) => facts,
        Err(why) => {
            let what = format!("cannot use this StatusDir of {named_in}: {why}");
            return Some(Finding::warning(
                path,
                what,
                "make it for SlurmUser with mode 755, or mend the path",
            ));
        }
    };
    let chmod = format!("chmod 755 {path}");
    if mode & 0o001 == 0 {
        let what = format!("users cannot enter it (mode {mode:04o}), so that svipu shows them no state");
        return Some(Finding::warning(path, what, chmod));
    }
    if mode & 0o002 != 0 {
        let what = format!("every user can write in it (mode {mode:04o})");
        return Some(Finding::warning(path, what, chmod));
    }
    let user = slurm.user.filter(|user| !can_write(*user, owner, mode))?;
    let what = format!("it belongs to user {owner}, so that SlurmUser cannot write in it (StatusDir)");
    Some(Finding::warning(&path, what, format!("chown {user} {path}")))
}

/// No directory of the status document has the directory in which users of an earlier version made requests. slurmctld
/// removes it at its start, but not directories of users in it.
pub(crate) fn earlier_requests(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Vec<Finding> {
    let cluster = slurm.value("ClusterName").unwrap_or_default().to_lowercase();
    let of_models = settings(models).filter(|_| slurm.is_controller_host);
    let dirs: BTreeSet<_> =
        of_models.filter_map(|(_, own)| own.status_dir.as_ref().or(own.ipuof_dir.as_ref())).collect();
    let paths = dirs.into_iter().map(|dir| dir.join(file_names::requests(&cluster)));
    let left = paths.filter(|path| host.at(path).symlink_metadata().is_ok());
    let finding = |path: PathBuf| {
        let path = path.display();
        let what = "users of an earlier version made requests here, and this version does not look at them";
        Finding::warning(path.to_string(), what, format!("rm -r {path}"))
    };
    left.map(finding).collect()
}

/// StatusGroup is a group, and SlurmUser is in it. That of the first model that has one counts, as for slurmctld.
pub(crate) fn group(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Option<Finding> {
    let mut named = settings(models).filter_map(|(model, own)| Some((model, own.status_group.as_ref()?)));
    let (model, name) = named.next().filter(|_| slurm.is_controller_host)?;
    let user = slurm.value("SlurmUser").unwrap_or("root");
    let (what, fix) = match (host.in_group)(user, name) {
        Some(true) => return None,
        None => (
            format!(
                "StatusGroup={name} is no group of this host, so that its members cannot read the status"
            ),
            format!("groupadd {name}, or mend StatusGroup"),
        ),
        Some(false) => (
            format!(
                "SlurmUser is not in the group of StatusGroup={name}, so that it cannot give it the status"
            ),
            format!("usermod -a -G {name} {user}, then restart slurmctld"),
        ),
    };
    Some(Finding::warning(&model.file, what, fix))
}
