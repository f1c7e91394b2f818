//! The directory and the group of the status document.

use super::directories::can_write;
use crate::facts::{Facts, StatusDir};
use crate::finding::Finding;

/// SlurmUser can write in StatusDir, and users can enter it.
pub(super) fn directories(facts: &Facts) -> Vec<Finding> {
    facts.status_dirs.iter().filter_map(|directory| of_directory(facts, directory)).collect()
}

fn of_directory(facts: &Facts, directory: &StatusDir) -> Option<Finding> {
    let path = directory.path.display().to_string();
    let (owner, mode) = match &directory.facts {
        Ok(facts) => *facts,
        Err(why) => {
            let what = format!("cannot use this StatusDir of {}: {why}", directory.named_in);
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
    let user = facts.slurm.user.filter(|user| !can_write(*user, owner, mode))?;
    let what = format!("it belongs to user {owner}, so that SlurmUser cannot write in it (StatusDir)");
    Some(Finding::warning(&path, what, format!("chown {user} {path}")))
}

/// StatusGroup is a group, and SlurmUser is in it.
pub(super) fn group(facts: &Facts) -> Vec<Finding> {
    let Some(group) = &facts.status_group else { return Vec::new() };
    let (name, user) = (&group.name, &group.user);
    let (what, fix) = match group.has_slurm_user {
        Some(true) => return Vec::new(),
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
    vec![Finding::warning(&group.named_in, what, fix)]
}
