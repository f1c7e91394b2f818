//! The variable by which srun tells its tasks whether their step has IPUs.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use super::options;
use super::slurm::function;
use crate::environment_change::{STEP_WITHOUT, has_ipus};

type OptionGet = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_char;
type Free = unsafe extern "C" fn(*mut *mut c_void);

/// Whether a component of this srun's step has IPUs. All components share one environment.
static HAS_IPUS: AtomicBool = AtomicBool::new(false);

/// Sets or removes [`STEP_WITHOUT`] in srun's environment, which its tasks get. Called for each component of the
/// step when its options are read.
pub(super) fn tell_tasks() {
    let this_has = has_ipus(option(c"gres").as_deref()) || options::asked().ipus.is_some();
    let has = HAS_IPUS.fetch_or(this_has, Ordering::Relaxed) || this_has;
    match option(c"jobid") {
        // SAFETY: srun has started no thread of its own yet, and changes its environment itself at this
        // stage.
        Some(job) if !has => unsafe { std::env::set_var(STEP_WITHOUT, job) },
        // SAFETY: srun has no other thread yet.
        _ => unsafe { std::env::remove_var(STEP_WITHOUT) },
    }
}

/// The value that srun was given for an option, by its long name. A function of Slurm reads it, because the
/// layout of `slurm_opt_t` differs in each release.
fn option(name: &CStr) -> Option<String> {
    // SAFETY: `char *slurm_option_get(slurm_opt_t *, const char *)` and `void slurm_xfree(void **)` in every
    // release.
    let (get, free) =
        unsafe { (function::<OptionGet>(c"slurm_option_get").ok()?, function::<Free>(c"slurm_xfree").ok()?) };
    // SAFETY: RTLD_DEFAULT is always a valid place to look, and the name is a C string.
    let options = NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"opt".as_ptr()) })?;
    // SAFETY: `slurm_opt_t opt` of srun, which the thread that is running fills.
    let mut text: *mut c_void = unsafe { get(options.as_ptr(), name.as_ptr()) }.cast();
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and a C string that is ours to free.
    let value = unsafe { CStr::from_ptr(text.cast()) }.to_string_lossy().into_owned();
    // SAFETY: memory of Slurm's allocator, not used afterwards.
    unsafe { free(&raw mut text) };
    Some(value)
}
