//! Slurm requeues a job by its id up to 25.05, and by its record from 25.11 on.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use slurm_release::Series;

use crate::symbols::{self, RawJob};

type ById = unsafe extern "C" fn(u32, u32, *mut c_void, bool, u32) -> c_int;
type ByRecord = unsafe extern "C" fn(u32, RawJob, bool, u32) -> c_int;

/// The function of the running release that requeues a job.
pub(crate) enum Requeue {
    ById(ById),
    ByRecord(ByRecord),
}

impl Requeue {
    pub(crate) fn resolve(series: Series) -> Result<Self, String> {
        match series < Series::new(25, 11) {
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            true => unsafe { symbols::wanted(c"job_requeue") }.map(Self::ById),
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            false => unsafe { symbols::wanted(c"job_requeue_internal") }.map(Self::ByRecord),
        }
    }

    /// Requeues a job in root's name. Returns false if the job cannot be requeued.
    ///
    /// # Safety
    /// The job write, node write and fed read locks are held, and `job` is the record of the job with this
    /// id.
    pub(crate) unsafe fn call(&self, id: u32, job: RawJob, flags: u32) -> bool {
        const ROOT: u32 = 0;
        // SAFETY: locks and job by the caller's promise; there is no message to answer (NULL).
        let code = unsafe {
            match self {
                Self::ById(requeue) => requeue(ROOT, id, null_mut(), false, flags),
                Self::ByRecord(requeue) => requeue(ROOT, job, false, flags),
            }
        };
        code == 0
    }
}
