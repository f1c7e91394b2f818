//! job_submit's `job_modify` has a fourth argument, for an answer to the user, from 23.02 on.

use std::ffi::c_char;
use std::ptr::null_mut;

use slurm_release::Series;

use crate::running_release::loaded;

/// Returns Slurm's `err_msg`, or NULL where the release passes none and the register holds any value.
pub fn err_msg(argument: *mut *mut c_char) -> *mut *mut c_char {
    match loaded() {
        Ok(loaded) if loaded.release.version.series() >= Series::new(23, 2) => argument,
        _ => null_mut(),
    }
}
