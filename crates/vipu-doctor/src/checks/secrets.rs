//! The files with keys.

use crate::facts::{Facts, SecretFile};
use crate::finding::Finding;

/// Only the user who reads a file with keys can open it: SlurmUser on a slurmctld host, root on a node.
pub(super) fn permissions(facts: &Facts) -> Vec<Finding> {
    facts.secrets.iter().filter_map(|file| of_file(facts, file)).collect()
}

fn of_file(facts: &Facts, file: &SecretFile) -> Option<Finding> {
    let path = file.path.display().to_string();
    let (owner, mode) = match &file.facts {
        Ok(facts) => *facts,
        Err(why) => {
            let what = format!("cannot use this file ({}): {why}", file.key);
            return Some(Finding::error(&path, what, format!("mend {} or the file", file.key)));
        }
    };
    if mode & 0o077 != 0 {
        let what =
            format!("group or others may open it (mode {mode:04o}), so that it is not used ({})", file.key);
        return Some(Finding::error(&path, what, format!("chmod 600 {path}")));
    }
    let (wanted, name) = match facts.slurm.is_controller_host {
        true => (facts.slurm.user?, "SlurmUser"),
        false => (0, "root"),
    };
    let what = format!("it belongs to user {owner}, so that {name} cannot read it ({})", file.key);
    let root_reads_all = wanted == 0 && facts.slurm.is_controller_host;
    (owner != wanted && !root_reads_all)
        .then(|| Finding::error(&path, what, format!("chown {wanted} {path}")))
}
