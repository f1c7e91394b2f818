//! Slurm names the reason of a waiting job by `job_reason_string` up to 23.11, and by
//! `job_state_reason_string` from 24.05 on.

use std::ffi::{c_char, c_uint};
use std::sync::OnceLock;

use crate::symbols;
use crate::text;

type Name = unsafe extern "C" fn(c_uint) -> *const c_char;

/// The name that squeue shows for a `job_state_reason`, for example `JobHeldUser`. None if this Slurm has
/// neither function.
pub(crate) fn of(reason: u32) -> Option<String> {
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    // SAFETY: both have this signature in the releases that have them (SAFETY.md, "Signatures").
    let found = || unsafe {
        symbols::function(c"job_reason_string").or_else(|| symbols::function(c"job_state_reason_string"))
    };
    let name = (*NAME.get_or_init(found))?;
    // SAFETY: no lock needed: any number is allowed, and the answer is a text that is never freed.
    unsafe { text::from_c(name(reason)) }
}
