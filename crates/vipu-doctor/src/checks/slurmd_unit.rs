//! The unit of slurmd.

use crate::facts::Facts;
use crate::finding::Finding;

/// The bytes that RDMA needs at least, as spank_ipuof.so counts them.
const ENOUGH: u64 = 1 << 30;

/// slurmd, and so its tasks, may lock the memory that RDMA needs.
pub(super) fn locked_memory(facts: &Facts) -> Vec<Finding> {
    let Some(unit) = facts.slurmd_unit.as_ref().filter(|_| facts.slurm.has_ipus) else { return Vec::new() };
    let restart = "then systemctl daemon-reload and restart slurmd";
    let drop_in = format!(
        "write [Service] and LimitMEMLOCK=infinity into /etc/systemd/system/slurmd.service.d/zz-memlock.conf, {restart}"
    );
    let Some(limit) = &unit.locked_memory else {
        let what = "it has no LimitMEMLOCK, so that tasks may lock less memory than RDMA needs";
        return vec![Finding::warning(unit.path.display().to_string(), what, drop_in)];
    };
    if limit.bytes().is_none_or(|bytes| bytes >= ENOUGH) {
        return Vec::new();
    }
    let place = format!("{}:{}", limit.file.display(), limit.line);
    let what = format!("LimitMEMLOCK is {}, so that tasks may lock less memory than RDMA needs", limit.text);
    // An update of Slurm's package replaces the files in other folders.
    let fix = match limit.file.starts_with("/etc") {
        true => format!("write LimitMEMLOCK=infinity there, {restart}"),
        false => drop_in,
    };
    vec![Finding::warning(place, what, fix)]
}
