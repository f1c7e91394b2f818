//! The job_submit interface.

use std::ffi::{c_char, c_int, c_void};

use slurm_host::differences::err_msg_of_modify;
use slurm_host::plugin_table::{self, PluginTable};
use slurm_host::submit::{self, JobDescription};
use slurm_host::{boundary, conf, release};
use vipu_types::JobOption;

slurm_host::plugin_identity! { name: "Checks requests for V-IPU partitions", type: "job_submit/vipu" }

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    0
}

/// Checks a new job. `user` is the one whom Slurm has authenticated.
///
/// # Safety
/// Slurm passes its message and its variable for the answer.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn job_submit(description: *mut c_void, user: u32, err_msg: *mut *mut c_char) -> c_int {
    judge("job_submit", description, err_msg, &|controller| {
        // SAFETY: Slurm's own arguments of the running callback, under the locks Slurm took for it.
        unsafe { (controller.job_submit)(description, user, err_msg) }
    })
}

/// Checks a changed job.
///
/// # Safety
/// Slurm passes its message and the job's record, and from 23.02 on its variable for the answer.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn job_modify(
    description: *mut c_void,
    job: *mut c_void,
    _user: u32,
    err_msg: *mut *mut c_char,
) -> c_int {
    let err_msg = err_msg_of_modify(err_msg);
    judge("job_modify", description, err_msg, &|controller| {
        // SAFETY: Slurm's own arguments of the running callback, under the locks Slurm took for it.
        unsafe { (controller.job_modify)(description, job, err_msg) }
    })
}

fn judge(
    call: &str,
    description: *mut c_void,
    err_msg: *mut *mut c_char,
    ask: &dyn Fn(&PluginTable) -> c_int,
) -> c_int {
    boundary::guard(&|| call.into(), 0, || match plugin_table::loaded() {
        Some(controller) => ask(controller),
        None => refuse_ipus(description, err_msg),
    })
}

/// Refuses jobs with IPUs while vipu_slurmctld.so is not loaded. Without it, `--ipus` is not translated and
/// no partition is made, so the job would start without IPUs.
fn refuse_ipus(description: *mut c_void, err_msg: *mut *mut c_char) -> c_int {
    // SAFETY: the message of the running callback.
    let description = unsafe { JobDescription::from_callback(description) };
    let asks = |it: JobDescription<'_>| it.mentions_vipu() || !it.options(JobOption::PREFIX).is_empty();
    if !description.is_some_and(asks) {
        return 0;
    }
    let why = match conf::select_type() {
        Some(selector) if !selector.starts_with("select/vipu") => {
            format!("slurm.conf says SelectType={selector}, and IPUs need select/vipu")
        }
        _ => "slurmctld cannot use vipu_slurmctld.so, its log says why; tell the administrator".to_owned(),
    };
    // SAFETY: the answer variable of the running callback, or NULL.
    unsafe { submit::tell(err_msg, &format!("vipu: no job with IPUs can start: {why}")) };
    release::ESLURM_INVALID_GRES.cast_signed()
}
