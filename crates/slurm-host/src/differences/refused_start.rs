//! Refuses a job that waits for IPUs so that the jobs behind it go on.
//!
//! After the answer "nodes are busy" the main scheduler passes over the whole Slurm partition for the rest of
//! its pass, for fear of taking nodes from the waiting job. From 23.02 on there is an answer for a lack of
//! anything but nodes: a missing licence. 22.05 has only one answer that comes close. A job that could run on
//! all nodes, but not on those in service, waits for a node that is not available, and Slurm keeps nothing
//! for it. Two tests follow a refused start. This module gives that answer by refusing the first of them, the
//! one on the nodes in service.

use std::cell::Cell;
use std::ffi::c_int;

use slurm_release as facts;

use super::is_since;
use crate::conf;
use crate::job::JobRef;
use crate::job_test::Test;

/// `ESLURM_LICENSES_UNAVAILABLE` of 23.02 and later.
const LICENSES_UNAVAILABLE: c_int = 2040;

/// `ESLURM_NODES_BUSY`
const NODES_BUSY: c_int = facts::ESLURM_NODES_BUSY.cast_signed();

thread_local! {
    /// The job whose next test, on nodes in service, has to be refused as well.
    static TESTED_NEXT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Returns the code that refuses to start this job now.
pub fn of_start(job: JobRef<'_>, test: &Test<'_>) -> c_int {
    if is_being_submitted(job) {
        // The user would see a message about licences.
        NODES_BUSY
    } else if is_since(23, 2) {
        // With bf_licenses the main scheduler would stop altogether.
        if conf::keeps_licenses() { NODES_BUSY } else { LICENSES_UNAVAILABLE }
    } else {
        // With too few nodes, or with jobs to preempt, Slurm leaves out the first of the two tests.
        let (nodes, fewest) = test.nodes();
        if nodes >= fewest && !test.may_preempt() {
            TESTED_NEXT.set(Some(job.id()));
        }
        NODES_BUSY
    }
}

/// Returns the code that refuses the test of whether the job could ever run, if this test follows a refused
/// start. Every test, of any mode, asks here first, because only the next test is meant.
pub fn of_test(job: JobRef<'_>, mode: u16) -> Option<c_int> {
    let is_next = TESTED_NEXT.take() == Some(job.id());
    (is_next && facts::is_test_only(mode)).then_some(NODES_BUSY)
}

/// Whether the job is just being submitted. Slurm tries srun and salloc at once, before a scheduler gives the
/// job a reason to wait.
fn is_being_submitted(job: JobRef<'_>) -> bool {
    !job.is_batch() && job.state_reason() == facts::WAIT_NO_REASON
}
