//! The differences between Slurm's releases. The larger ones have a module each.
//!
//! The table of `slurm_release` has the offsets and sizes. select-vipu's `exports/selector.rs` says beside
//! each function of the select interface which releases have it. Everything else that the plugins use is the
//! same from 22.05 to 26.05 (SAFETY.md, "Signatures").

pub(crate) mod gres_request;
pub mod plugin_id;
pub mod refused_start;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use slurm_release::Series;
use vipu_types::Words;

use crate::record::text_of_c;
use crate::running_release::loaded;
use crate::symbols::{self, RawJob};

/// Changes are made in root's name.
const ROOT: u32 = 0;

/// Whether the running release is of this series or a later one. False if it is not known.
pub(crate) fn is_since(major: u8, minor: u8) -> bool {
    loaded().is_ok_and(|loaded| loaded.release.version.series() >= Series::new(major, minor))
}

/// Returns job_modify's argument for an answer to the user. It is a fourth argument from 23.02 on. Before, the
/// register holds any value, and the result is NULL.
pub fn err_msg_of_modify(argument: *mut *mut c_char) -> *mut *mut c_char {
    if is_since(23, 2) { argument } else { null_mut() }
}

/// Whether slurmctld certainly has new job records when it has read its nodes.
///
/// Up to 23.02 a reconfigure also reads the nodes, and keeps the jobs. From 23.11 on a reconfigure starts a
/// new process, and a process reads its nodes when it starts and when it takes over.
pub fn job_records_are_new() -> bool {
    is_since(23, 11)
}

/// The name that squeue shows for a `job_state_reason`, for example `JobHeldUser`. Slurm has it by
/// `job_reason_string` up to 23.11, and by `job_state_reason_string` from 24.05 on. None if this Slurm has neither
/// function.
pub(crate) fn reason_name(reason: u32) -> Option<String> {
    type Name = unsafe extern "C" fn(c_uint) -> *const c_char;
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    // SAFETY: both have this signature in the releases that have them (SAFETY.md, "Signatures").
    let found = || unsafe {
        symbols::function(c"job_reason_string").or_else(|| symbols::function(c"job_state_reason_string"))
    };
    let name = (*NAME.get_or_init(found))?;
    // SAFETY: no lock needed: any number is allowed, and the answer is a text that is never freed.
    unsafe { text_of_c(name(reason)) }
}

/// slurmctld's locks, as `lock_slurmctld` takes them by value. `slurmctld_lock_t` has five members and 20 bytes up to
/// 25.11, and six and 24 from 26.05 on.
///
/// Both sizes occupy 24 bytes of the stack when they are passed by value on x86_64. The larger size serves
/// both: a release with five members does not look at the sixth.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Locks {
    pub(crate) conf: u32,
    pub(crate) job: u32,
    pub(crate) node: u32,
    pub(crate) part: u32,
    pub(crate) fed: u32,
    pub(crate) select_node: u32,
}

/// The function that ends a job, `job_complete`: by the job's id up to 25.05, by a pointer to its step id from 25.11 on.
pub(crate) enum EndJob {
    ById(unsafe extern "C" fn(u32, u32, bool, bool, u32) -> c_int),
    ByStepId(unsafe extern "C" fn(*const c_void, u32, bool, bool, u32) -> c_int),
}

impl EndJob {
    pub(crate) fn resolve(series: Series) -> Result<Self, Words> {
        match series < Series::new(25, 11) {
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            true => unsafe { symbols::wanted(c"job_complete") }.map(Self::ById),
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            false => unsafe { symbols::wanted(c"job_complete") }.map(Self::ByStepId),
        }
    }

    /// Ends a job, as if the job had returned `status` (a wait status).
    ///
    /// # Safety
    /// The job write, node write and fed read locks are held, and `job` is the record of the job with this
    /// id.
    pub(crate) unsafe fn call(&self, id: u32, job: RawJob, status: u32) {
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

/// The function that requeues a job: by its id up to 25.05, by its record from 25.11 on.
pub(crate) enum Requeue {
    ById(unsafe extern "C" fn(u32, u32, *mut c_void, bool, u32) -> c_int),
    ByRecord(unsafe extern "C" fn(u32, RawJob, bool, u32) -> c_int),
}

impl Requeue {
    pub(crate) fn resolve(series: Series) -> Result<Self, Words> {
        match series < Series::new(25, 11) {
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            true => unsafe { symbols::wanted(c"job_requeue") }.map(Self::ById),
            // SAFETY: its signature in these releases (SAFETY.md, "Signatures").
            false => unsafe { symbols::wanted(c"job_requeue_internal") }.map(Self::ByRecord),
        }
    }

    /// Requeues a job. Returns false if the job cannot be requeued.
    ///
    /// # Safety
    /// The job write, node write and fed read locks are held, and `job` is the record of the job with this
    /// id.
    pub(crate) unsafe fn call(&self, id: u32, job: RawJob, flags: u32) -> bool {
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
