//! Finds functions and variables of the process that loaded us, by name at run time.
//!
//! A plugin with undefined symbols of slurmctld would not load in `squeue` or slurmd. A plugin that was built
//! against one release would not load in another. Our plugins therefore have no undefined symbols of Slurm.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use vipu_types::{Words, words};

/// Looks a symbol up in the executable and the libraries with which it was started.
pub fn find(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: no lock needed; dlsym reads a NUL-terminated name and the handle is the predefined one.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Returns a function of the host, typed by the caller.
///
/// # Safety
/// `F` must be the `unsafe extern "C" fn` type with the signature that the function has in every
/// supported release.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: F is a function pointer of the size of a pointer (asserted), its signature is the caller's
    // promise.
    find(name).map(|symbol| unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&symbol) })
}

/// Returns a function as [`function`] does; the error names a missing one.
///
/// # Safety
/// As [`function`].
pub(crate) unsafe fn wanted<F: Copy>(name: &CStr) -> Result<F, Words> {
    // SAFETY: passed on to the caller.
    unsafe { function(name) }.ok_or_else(|| words!("this Slurm has no function {}", name.to_string_lossy()))
}

/// Whether this process is slurmctld: only slurmctld has the scheduler's functions.
pub fn in_slurmctld() -> bool {
    find(c"prolog_running_decr").is_some() && find(c"lock_slurmctld").is_some()
}

/// A pointer to a `job_record_t`.
pub type RawJob = *mut c_void;
