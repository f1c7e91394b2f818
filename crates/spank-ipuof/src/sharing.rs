//! Steps with more tasks than their partition has GCDs. Some tasks then share IPUs, which only one task can
//! use at a time.

use vipu_types::Grant;

/// The warning before this number of tasks of one step starts, if some of them share a GCD.
pub(crate) fn warning(grant: &Grant, tasks: u32) -> Option<String> {
    let gcds = grant.gcds;
    let needed = tasks.checked_next_power_of_two()?;
    let plural = if gcds == 1 { "" } else { "s" };
    (tasks > gcds).then(|| {
        format!(
            "warning: {tasks} tasks share {gcds} GCD{plural}; for one each, submit the job with --ipu-gcds={needed} and {needed} IPUs \
             or more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tasks_than_gcds_lead_to_a_warning() {
        for (grant, tasks, line) in [
            (
                "slurm_42,pod64,1,1",
                2,
                "warning: 2 tasks share 1 GCD; for one each, submit the job with --ipu-gcds=2 and 2 IPUs or more",
            ),
            (
                "slurm_42,pod64,4,2",
                3,
                "warning: 3 tasks share 2 GCDs; for one each, submit the job with --ipu-gcds=4 and 4 IPUs or more",
            ),
            ("slurm_42,pod64,4,2", 2, ""),
            ("slurm_42,pod64,4,2", 1, ""),
            ("slurm_42,pod64,4,2", 0, ""),
            ("slurm_42,pod64,4,2", u32::MAX, ""),
        ] {
            let grant: Grant = grant.parse().unwrap();
            assert_eq!(warning(&grant, tasks).unwrap_or_default(), line, "{tasks}");
        }
    }
}
