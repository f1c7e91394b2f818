//! The limit on locked memory, which RDMA needs: whether tasks have that of the node, or that of the submit host.

use crate::slurm_conf::{Line, SlurmConf};

const ONLY: &str = "PropagateResourceLimits";
const EXCEPT: &str = "PropagateResourceLimitsExcept";

/// The line with which tasks have the node's limit.
pub struct LockedMemory<'a> {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The line that gives tasks the submit host's limit. Without one, Slurm gives them all limits.
    pub line: Option<&'a Line>,
}

impl SlurmConf {
    /// What is to be written, or none if tasks have the node's limit.
    pub fn locked_memory(&self) -> Option<LockedMemory<'_>> {
        let is_memlock = |word: &&str| word.trim().trim_start_matches("RLIMIT_") == "MEMLOCK";
        let has_memlock = |list: &str| list.split(',').any(|word| is_memlock(&word));
        // Slurm ignores the first key if the other is given. It knows ALL and NONE only alone.
        let (key, value) = match (self.value(EXCEPT), self.value(ONLY)) {
            (Some(list), _) if list == "ALL" || has_memlock(list) => return None,
            (Some("NONE"), _) | (None, None | Some("ALL")) => (EXCEPT, "MEMLOCK".to_owned()),
            (Some(list), _) => (EXCEPT, format!("{list},MEMLOCK")),
            (None, Some(list)) if has_memlock(list) => {
                let others: Vec<_> = list.split(',').filter(|word| !is_memlock(word)).collect();
                (ONLY, if others.is_empty() { "NONE".to_owned() } else { others.join(",") })
            }
            (None, Some(_)) => return None,
        };
        Some(LockedMemory { key, value, line: self.line(EXCEPT).or_else(|| self.line(ONLY)) })
    }
}
