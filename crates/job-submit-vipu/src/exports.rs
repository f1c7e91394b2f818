//! The job_submit interface.

use std::ffi::{c_char, c_int, c_void};

use slurm_host::controller::{self, Controller};
use slurm_host::differences::job_modify;
use slurm_host::{boundary, log};

slurm_host::plugin_identity! { name: "Checks requests for V-IPU partitions", type: "job_submit/vipu" }

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    0
}

/// Checks a new job. `user` is not needed: the same requests are valid for all.
///
/// # Safety
/// Called by Slurm with its message and its variable for the answer.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn job_submit(description: *mut c_void, _user: u32, err_msg: *mut *mut c_char) -> c_int {
    judge("job_submit", &|controller| {
        // SAFETY: Slurm's own arguments of the running callback, under the locks Slurm took for it.
        unsafe { (controller.job_submit)(description, err_msg) }
    })
}

/// Checks a changed job.
///
/// # Safety
/// Called by Slurm with its message and the job's record, and from 23.02 on with its variable for the answer.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn job_modify(
    description: *mut c_void,
    job: *mut c_void,
    _user: u32,
    err_msg: *mut *mut c_char,
) -> c_int {
    let err_msg = job_modify::err_msg(err_msg);
    judge("job_modify", &|controller| {
        // SAFETY: Slurm's own arguments of the running callback, under the locks Slurm took for it.
        unsafe { (controller.job_modify)(description, job, err_msg) }
    })
}

fn judge(call: &str, ask: &dyn Fn(&Controller) -> c_int) -> c_int {
    boundary::guard(&|| call.into(), 0, || match controller::loaded() {
        Some(controller) => ask(controller),
        None => {
            log::debug("job_submit/vipu: vipu_slurmctld.so is not loaded; is SelectType=select/vipu set?");
            0
        }
    })
}
