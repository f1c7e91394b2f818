//! `job_complete` takes the job's id up to 25.05, a pointer to its step id from 25.11 on.

use std::ffi::{c_int, c_void};

use slurm_release::Series;

use crate::symbols::{self, RawJob};

type ById = unsafe extern "C" fn(u32, u32, bool, bool, u32) -> c_int;
type ByStepId = unsafe extern "C" fn(*const c_void, u32, bool, bool, u32) -> c_int;

/// The function of the running release that ends a job.
pub(crate) enum EndJob {
    ById(ById),
    ByStepId(ByStepId),
}

impl EndJob {
    pub(crate) fn resolve(series: Series) -> Result<Self, String> {
        match series < Series::new(25, 11) {
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            true => unsafe { symbols::wanted(c"job_complete") }.map(Self::ById),
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            false => unsafe { symbols::wanted(c"job_complete") }.map(Self::ByStepId),
        }
    }

    /// Ends a job in root's name, as if the job had returned `status` (a wait status).
    ///
    /// # Safety
    /// The job write, node write and fed read locks are held, and `job` is the record of the job with this
    /// id.
    pub(crate) unsafe fn call(&self, id: u32, job: RawJob, status: u32) {
        const ROOT: u32 = 0;
        // SAFETY: locks and job by the caller's promise; no requeue, no node failure. From 25.11 on a job
        // record begins with the job's step id; Slurm's own header asks to leave it there.
        unsafe {
            match self {
                Self::ById(complete) => complete(id, ROOT, false, false, status),
                Self::ByStepId(complete) => complete(job, ROOT, false, false, status),
            }
        };
    }
}
