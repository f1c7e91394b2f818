//! The gres interface: the union of what the releases have, as each looks for its own names only.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use slurm_host::{boundary, conf as slurm_conf, gres, log, symbols};

use crate::{check, spank};

slurm_host::plugin_identity! { name: "Checks what nodes offer of V-IPU Pods", type: "gres/vipu" }

type Ptr = *mut c_void;

/// `int`s of the interface: the node's configuration is not refused for a fault of ours, as other jobs run
/// there too.
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

/// Looks at the node's records once slurmd has put slurm.conf and gres.conf together; slurmctld calls it for
/// cloud nodes.
///
/// # Safety
/// Called by Slurm with its list, which nobody else changes meanwhile. What the second argument points to
/// differs between the releases, and is not looked at.
// SAFETY: (attribute) a name of the gres interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn gres_p_node_config_load(records: Ptr, _node: Ptr) -> c_int {
    boundary::guard(&|| "gres_p_node_config_load".into(), SUCCESS, || {
        // SAFETY: Slurm's list of the running callback (caller).
        match unsafe { gres::of_node(records, "vipu") } {
            Ok(offers) => tell(&offers),
            Err(why) => log::error(&format!("gres/vipu: what this node offers is not checked: {why}")),
        }
        SUCCESS
    })
}

fn tell(offers: &[gres::Record]) {
    let mut faults = check::faults(offers, slurm_conf::folder().as_deref());
    // slurmctld asks for a node that is elsewhere.
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

/// Functions that have nothing to do for a resource without devices: each with its signature in Slurm, what
/// it returns, and the releases that have it when it is not all.
macro_rules! nothing_to_do {
    ( $( fn $name:ident($($type:ty),*) $(-> $ret:ty = $answer:expr)?; )* ) => { $(
        // SAFETY: (attribute) a name of the gres interface; it reads none of its arguments.
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $type),*) $(-> $ret)? { $($answer)? }
    )* };
}

nothing_to_do! {
    fn gres_p_job_set_env(*mut *mut *mut c_char, Ptr, u64, c_int);
    // With `no_consume` Slurm books no IPUs for a step: the count is 0 for one that has them as for one that
    // has none.
    fn gres_p_step_set_env(*mut *mut *mut c_char, Ptr, u64, c_int);
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

/// What stock plugins answer who have nothing of the kind: `EINVAL`.
const NOT_SUPPORTED: c_int = 22;
