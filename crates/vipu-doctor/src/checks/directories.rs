//! The directories of IPUoF files.

use crate::facts::{Directory, Facts};
use crate::finding::Finding;

/// SlurmUser can write in the directory, and all users can enter it.
pub(super) fn permissions(facts: &Facts) -> Vec<Finding> {
    facts.directories.iter().filter_map(|directory| of_directory(facts, directory)).collect()
}

fn of_directory(facts: &Facts, directory: &Directory) -> Option<Finding> {
    let path = directory.path.display().to_string();
    let (owner, mode) = match &directory.facts {
        Ok(facts) => *facts,
        // Users of a login host do not need the directory.
        Err(_) if !facts.slurm.is_controller_host && !facts.slurm.has_ipus => return None,
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
    let user = facts.slurm.user.filter(|_| facts.slurm.is_controller_host)?;
    let what = format!("it belongs to user {owner}, so that SlurmUser cannot write in it");
    (!can_write(user, owner, mode)).then(|| Finding::error(&path, what, format!("chown {user} {path}")))
}

/// Whether a user can write in a directory. The user may be in its group.
pub(super) fn can_write(user: u32, owner: u32, mode: u32) -> bool {
    user == 0 || owner == user && mode & 0o200 != 0 || mode & 0o022 != 0
}

/// The file system has access control lists, with which only the job's user can read a file.
pub(super) fn access_lists(facts: &Facts) -> Vec<Finding> {
    let usable = facts.directories.iter().filter(|directory| directory.facts.is_ok() && !directory.has_acls);
    let finding = |directory: &Directory| {
        let path = directory.path.display().to_string();
        let what = "its file system has no POSIX ACLs, so that every user can read every IPUoF file";
        Finding::warning(path, what, "mount it with ACLs (option acl), or use Delivery=node")
    };
    usable.map(finding).collect()
}

/// Clusters that share a directory do not share a prefix of partitions.
pub(super) fn clusters(facts: &Facts) -> Vec<Finding> {
    let own = facts.slurm.value("ClusterName").unwrap_or_default();
    let mut findings = Vec::new();
    for directory in &facts.directories {
        let others: Vec<_> =
            directory.clusters.iter().filter(|name| !name.eq_ignore_ascii_case(own)).collect();
        let mut users =
            facts.settings().filter(|(_, settings)| settings.ipuof_dir.as_ref() == Some(&directory.path));
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
