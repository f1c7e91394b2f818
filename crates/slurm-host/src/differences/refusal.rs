//! How a job that waits for IPUs is refused so that those behind it go on.
//!
//! "Nodes are busy" makes the main scheduler pass over the whole Slurm partition for the rest of its pass,
//! for fear of taking nodes from the job that waits. From 23.02 on there is an answer for what is not nodes:
//! a missing licence. 22.05 has only one that comes close: a job that could run on all nodes, but not on
//! those in service, waits for a node that is not available, and nothing is kept for it. It is told so by
//! refusing the first of the two tests that follow a refused start: the one on the nodes in service.

use std::cell::Cell;
use std::ffi::c_int;

use slurm_release as facts;
use slurm_release::Series;

use crate::conf;
use crate::job::JobRef;
use crate::job_test::Test;
use crate::running_release::loaded;

/// `ESLURM_LICENSES_UNAVAILABLE` of 23.02 and later.
const LICENSES_UNAVAILABLE: c_int = 2040;

/// `ESLURM_NODES_BUSY`
const NODES_BUSY: c_int = facts::ESLURM_NODES_BUSY.cast_signed();

thread_local! {
    /// The job whose next test, on nodes in service, is to be refused as well.
    static TESTED_NEXT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The code that refuses to start this job now.
#[must_use]
pub fn of_start(job: JobRef<'_>, test: &Test<'_>) -> c_int {
    let has_answer = loaded().is_ok_and(|loaded| loaded.release.version.series() >= Series::new(23, 2));
    if is_being_submitted(job) {
        // The code would be shown to the user.
        NODES_BUSY
    } else if has_answer {
        // With bf_licenses the main scheduler would stop altogether.
        if conf::keeps_licenses() { NODES_BUSY } else { LICENSES_UNAVAILABLE }
    } else {
        // Else Slurm, which would take them into account, leaves out the first of the two tests.
        let (nodes, fewest) = test.nodes();
        if nodes >= fewest && !test.may_preempt() {
            TESTED_NEXT.set(Some(job.id()));
        }
        NODES_BUSY
    }
}

/// The code that refuses this test for whether the job could ever run, if it is the one that follows a
/// refused start. To be asked first of every test, of whatever mode: the next one only is meant.
#[must_use]
pub fn of_test(job: JobRef<'_>, mode: u16) -> Option<c_int> {
    let is_next = TESTED_NEXT.take() == Some(job.id());
    (is_next && facts::is_test_only(mode)).then_some(NODES_BUSY)
}

/// srun and salloc are tried at once, before any scheduler gave the job a reason to wait.
fn is_being_submitted(job: JobRef<'_>) -> bool {
    !job.is_batch() && job.state_reason() == facts::WAIT_NO_REASON
}
