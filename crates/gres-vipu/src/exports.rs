//! The gres interface. The object has the functions of all releases, because each release looks up its own
//! names only.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use slurm_host::{boundary, conf as slurm_conf, log, plugstack, shared_object, slurmd_gres, symbols};
use vipu_types::Grant;

use crate::{check, spank};

slurm_host::plugin_identity! { name: "Checks what nodes offer of V-IPU Pods", type: "gres/vipu" }

type Ptr = *mut c_void;

/// The `int` for success. An internal error does not make slurmd refuse the node's configuration, because
/// other jobs run there too.
const SUCCESS: c_int = 0;

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    SUCCESS
}

// SAFETY: `int fini(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn fini() -> c_int {
    SUCCESS
}

/// Checks the node's records after slurmd has read slurm.conf and gres.conf. slurmctld calls it for cloud
/// nodes.
///
/// # Safety
/// Slurm passes its list, which no other thread changes meanwhile. The second argument differs between
/// releases and is not used.
// SAFETY: (attribute) a name of the gres interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn gres_p_node_config_load(records: Ptr, _node: Ptr) -> c_int {
    boundary::guard(&|| "gres_p_node_config_load".into(), SUCCESS, || {
        // SAFETY: Slurm's list of the running callback (caller).
        match unsafe { slurmd_gres::of_node(records, "vipu") } {
            Ok(offers) => tell(&offers),
            Err(why) => log::error(&format!("gres/vipu: what this node offers is not checked: {why}")),
        }
        SUCCESS
    })
}

fn tell(offers: &[slurmd_gres::Record]) {
    let mut faults = check::faults(offers, slurm_conf::folder().as_deref());
    // slurmctld asks about a node that is another host.
    if !offers.is_empty() && !symbols::in_slurmctld() {
        faults.extend(spank::fault());
    }
    for fault in &faults {
        log::error(&format!("gres/vipu: {fault}"));
    }
    if faults.is_empty() {
        log::debug(&format!("gres/vipu: this node offers {}", check::in_words(offers)));
    }
}

/// slurmstepd calls it for a batch script and an interactive step, before it loads the SPANK plugins.
///
/// # Safety
/// Slurm passes the environment of the step.
// SAFETY: (attribute) a name of the gres interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn gres_p_job_set_env(env: *mut *mut *mut c_char, _: Ptr, _: u64, _: c_int) {
    // SAFETY: passed on as Slurm gave it.
    boundary::guard(&|| "gres_p_job_set_env".into(), (), || unsafe { begin_step(env) });
}

/// slurmstepd calls it for any other step, also for one without IPUs.
///
/// # Safety
/// As [`gres_p_job_set_env`].
// SAFETY: (attribute) a name of the gres interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn gres_p_step_set_env(env: *mut *mut *mut c_char, _: Ptr, _: u64, _: c_int) {
    // SAFETY: passed on as Slurm gave it.
    boundary::guard(&|| "gres_p_step_set_env".into(), (), || unsafe { begin_step(env) });
}

/// Ends the tasks of a step that would run without the IPUs of its job. With `no_consume`, Slurm counts no IPUs for a
/// step, so that the grant tells of them. `spank_ipuof.so` decides whether it is one of this job.
///
/// # Safety
/// `env` leads to a list of C strings with NULL behind them. The process is a slurmstepd before its SPANK plugins are
/// loaded.
unsafe fn begin_step(env: *mut *mut *mut c_char) {
    // SAFETY: a list of C strings that ends with NULL (caller).
    let texts = (0..).map(|place| unsafe { *(*env).add(place) }).take_while(|text| !text.is_null());
    // SAFETY: each is a C string (caller).
    let mut texts = texts.map(|text| unsafe { CStr::from_ptr(text) }.to_bytes());
    if !texts.any(|text| text.starts_with(Grant::BEGINNING_OF_GRANT.as_bytes())) {
        return;
    }
    let here = NonNull::new(begin_step as *mut c_void).and_then(shared_object::folder_of).unwrap_or_default();
    let replaced = spank::stack_that_ends_tasks(&here).and_then(|stack| match stack {
        // SAFETY: the plugins are not loaded yet (caller).
        Some(stack) => unsafe { plugstack::replace(&stack) },
        None => Ok(()),
    });
    if let Err(why) = replaced {
        log::error(&format!(
            "gres/vipu: it is not known whether the tasks of this step get their IPUs: {why}"
        ));
    }
}

/// Functions without work for a resource without devices. Each has its signature in Slurm, its return value,
/// and its releases if not all have it.
macro_rules! nothing_to_do {
    ( $( fn $name:ident($($type:ty),*) $(-> $ret:ty = $answer:expr)?; )* ) => { $(
        // SAFETY: (attribute) a name of the gres interface; it reads none of its arguments.
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $type),*) $(-> $ret)? { $($answer)? }
    )* };
}

nothing_to_do! {
    fn gres_p_task_set_env(*mut *mut *mut c_char, Ptr, u64, Ptr, c_int);
    fn gres_p_send_stepd(Ptr);
    fn gres_p_recv_stepd(Ptr);
    // Up to 24.05.
    fn gres_p_get_job_info(Ptr, u32, c_int, Ptr) -> c_int = NOT_SUPPORTED;
    fn gres_p_get_step_info(Ptr, u32, c_int, Ptr) -> c_int = NOT_SUPPORTED;
    fn gres_p_get_devices() -> Ptr = null_mut();
    fn gres_p_step_hardware_init(Ptr, *mut c_char);
    fn gres_p_step_hardware_fini();
    // 22.05.
    fn gres_p_epilog_build_env(Ptr) -> Ptr = null_mut();
    fn gres_p_epilog_set_env(*mut *mut *mut c_char, Ptr, c_int);
    // From 23.02 on.
    fn gres_p_prep_build_env(Ptr) -> Ptr = null_mut();
    fn gres_p_prep_set_env(*mut *mut *mut c_char, Ptr, c_int);
}

/// The answer of stock plugins to a question about unknown data: `EINVAL`.
const NOT_SUPPORTED: c_int = 22;
