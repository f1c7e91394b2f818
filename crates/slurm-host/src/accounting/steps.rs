//! A line of sacct for the partition of a job.
//!
//! The line is a step that is in the database alone: slurmctld has no such step, waits for none and counts
//! none. Slurm's function packs a message for slurmdbd's agent, and keeps nothing of the record.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use vipu_types::{PartitionEnd, PartitionId, Words};

use super::tres::functions;
use crate::job::JobMut;
use crate::log;
use crate::record::Record;
use crate::slurmctld::host_functions;
use crate::symbols::wanted;

/// The number of the step: the last one below `SLURM_MAX_NORMAL_STEP_ID` (slurm.h, 22.05 to 26.05). `sacct -j JOB.STEP`
/// of 26.05 takes no greater one, and no job makes so many steps. From 24.05 on, Slurm leaves it out if `max_step_records` is set.
const NUMBER: u32 = 0xffff_ffef;

host_functions! {
    /// The functions that send a step to the database.
    Calls {
        start = c"jobacct_storage_g_step_start": fn(*mut c_void, *mut c_void) -> c_int;
        complete = c"jobacct_storage_g_step_complete": fn(*mut c_void, *mut c_void) -> c_int;
    }
}

fn calls() -> Option<&'static Calls> {
    static FOUND: OnceLock<Option<Calls>> = OnceLock::new();
    let tell = |why: &Words| log::error(&format!("select/vipu: sacct has no lines of partitions: {why}"));
    FOUND.get_or_init(|| Calls::resolve().inspect_err(tell).ok()).as_ref()
}

impl JobMut<'_> {
    /// Writes the line of a partition that the job has had since `start` (Unix time in seconds), and its end if
    /// it is gone. The line replaces an earlier one of this run of the job.
    pub fn write_partition_line(&mut self, partition: &PartitionId, start: i64, end: Option<PartitionEnd>) {
        let (Some(functions), Some(calls)) = (functions(), calls()) else { return };
        // SAFETY: set once, before the plugins are loaded.
        let connection = unsafe { functions.connection.get() };
        let Some(name) = CString::new(partition.as_str()).ok().filter(|_| !connection.is_null()) else {
            return;
        };
        let layout = &self.layout().step_record;
        let mut memory = vec![0_u64; usize::from(layout.size).div_ceil(size_of::<u64>())];
        let at = NonNull::from(memory.as_mut_slice()).cast();
        // SAFETY: zeroed memory of the size of a step_record_t, which only this function sees.
        let step = unsafe { Record::new(at) };
        step.write(layout.step_id_job_id, self.id());
        step.write(layout.step_id_step_het_comp, slurm_release::NO_VAL);
        step.write(layout.step_id_step_id, NUMBER);
        step.write(layout.start_time, start);
        step.write(layout.time_limit, slurm_release::INFINITE);
        step.write(layout.requid, u32::MAX);
        step.write(layout.state, slurm_release::JOB_RUNNING);
        // SAFETY: pointer members of that memory; the job and the name outlive the calls.
        unsafe {
            step.member(layout.job_ptr).cast::<*mut c_void>().write(self.record().address());
            step.member(layout.name).cast::<*const c_char>().write(name.as_ptr());
            // slurmdbd writes NULL as the text `(null)`, at which `sacct --json` of 24.11 and 26.05 dies.
            step.member(layout.tres_alloc_str).cast::<*const c_char>().write(c"".as_ptr());
            (calls.start)(connection, step.address());
        }
        // The exit code stays 0: slurmdbd would take it for that of the job's steps (DerivedExitCode).
        let state = match end {
            None => return,
            Some(PartitionEnd::Removed) => slurm_release::JOB_COMPLETE,
            Some(PartitionEnd::Unused) => slurm_release::JOB_CANCELLED,
            Some(PartitionEnd::Failed) => slurm_release::JOB_FAILED,
        };
        step.write(layout.state, state);
        // SAFETY: job write lock; the record above.
        unsafe { (calls.complete)(connection, step.address()) };
    }
}
