//! The mode word of a job_test.

use crate::{
    SELECT_MODE_BASE, SELECT_MODE_CHECK_FULL, SELECT_MODE_PREEMPT_FLAG, SELECT_MODE_RUN_NOW,
    SELECT_MODE_TEST_ONLY, SELECT_MODE_WILL_RUN,
};

/// Whether a job_test with this mode word starts the job if it says yes.
///
/// PREEMPT together with CHECK_FULL is a rehearsal of preemption, although its base mode is RUN_NOW.
pub fn is_run_now(mode: u16) -> bool {
    let mode = u32::from(mode);
    let rehearsal = SELECT_MODE_PREEMPT_FLAG | SELECT_MODE_CHECK_FULL;
    mode & SELECT_MODE_BASE == SELECT_MODE_RUN_NOW && mode & rehearsal != rehearsal
}

/// Whether a job_test with this mode word asks if the job could ever run.
pub fn is_test_only(mode: u16) -> bool {
    u32::from(mode) & SELECT_MODE_BASE == SELECT_MODE_TEST_ONLY
}

/// Whether a job_test with this mode word asks when the job would start.
pub fn is_will_run(mode: u16) -> bool {
    u32::from(mode) & SELECT_MODE_BASE == SELECT_MODE_WILL_RUN
}

/// Whether a job_test with this mode word is about the start of the job, now or at a time that it asks for.
///
/// If that time is unknown, the answer to both has to be no. Backfill keeps nodes for a job that could start
/// now, and keeps them for ever if the job is then refused.
pub fn is_start(mode: u16) -> bool {
    is_run_now(mode) || is_will_run(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsed_preemption_starts_nothing() {
        assert!(is_run_now(0x0000) && is_run_now(0x0100) && is_run_now(0x0400));
        assert!(!is_run_now(0x0300) && !is_run_now(0x0001) && !is_run_now(0x0002));
        assert!(is_test_only(0x0001) && is_test_only(0x0401) && !is_test_only(0x0002));
        assert!(is_will_run(0x0002) && is_will_run(0x0102) && !is_will_run(0x0001));
    }
}
