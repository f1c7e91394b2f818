//! Is the release's table true of this slurmctld? Asked before anything is believed.
//!
//! A wrong answer turns the plugins into a pure pass-through for the rest of the process: reading at wrong
//! offsets could do anything, not reading costs IPU jobs their start.

use std::sync::atomic::{AtomicU8, Ordering};

use slurm_release as facts;

use crate::job::JobRef;
use crate::{conf, log};

const UNCHECKED: u8 = 0;
const TRUSTED: u8 = 1;
const MISTRUSTED: u8 = 2;

static VERDICT: AtomicU8 = AtomicU8::new(UNCHECKED);

/// Whether a check failed in this process: IPU jobs do not start.
#[must_use]
pub fn is_pass_through() -> bool {
    VERDICT.load(Ordering::Relaxed) == MISTRUSTED
}

/// Checks the configuration structure: the text at its place must be the type we were loaded as.
#[must_use]
pub fn conf_is_as_expected() -> bool {
    let select_type = conf::select_type();
    let ours = select_type.as_deref().is_some_and(|text| text.starts_with("select/"));
    if !ours {
        mistrust(&format!("SelectType reads as {select_type:?}"));
    }
    !is_pass_through()
}

/// Checks a job record: cheap marks each time, more for the first job of the process.
pub(crate) fn job_is_as_expected(job: JobRef<'_>) -> bool {
    let verdict = VERDICT.load(Ordering::Relaxed);
    if verdict == MISTRUSTED {
        return false;
    }
    let layout = job.host().layout;
    let magic = job.record().read(layout.job_record.magic);
    if magic != facts::JOB_MAGIC {
        mistrust(&format!("a job record begins with {magic:#x}"));
        return false;
    }
    if verdict == UNCHECKED {
        let found = job_by_id(job);
        let details = job.details_magic();
        if !(found && details == Some(facts::DETAILS_MAGIC) && late_members_make_sense(job)) {
            mistrust(&format!("job {}: found by its id: {found}, details begin with {details:x?}", job.id()));
            return false;
        }
        VERDICT.store(TRUSTED, Ordering::Relaxed);
    }
    true
}

fn job_by_id(job: JobRef<'_>) -> bool {
    // SAFETY: a JobRef stands for at least the job read lock, which find_job_record needs.
    unsafe { (job.host().slurmctld.call.find_job_record)(job.id()) == job.record().address() }
}

/// Members near the end of the record move most often between releases.
fn late_members_make_sense(job: JobRef<'_>) -> bool {
    let layout = job.host().layout;
    let flag = job.record().read(layout.job_record.wait_all_nodes);
    let wait_all_nodes = flag <= 1 || flag == 0xfffe;
    // SAFETY: part_ptr is NULL or a part_record_t; whoever changes partitions holds the job write lock too, and
    // the locks of `locks` include a partition read lock.
    let partition = unsafe { job.record().follow(layout.job_record.part_ptr) };
    let partition = partition.is_none_or(|part| part.read(layout.part_record.magic) == facts::PART_MAGIC);
    wait_all_nodes && partition
}

fn mistrust(finding: &str) {
    if VERDICT.swap(MISTRUSTED, Ordering::Relaxed) != MISTRUSTED {
        log::error(&format!(
            "select/vipu: this slurmctld is not laid out as its release is known to be ({finding}); no IPU job will \
             start until a matching plugin is installed and slurmctld restarted; other jobs are not affected"
        ));
    }
}
