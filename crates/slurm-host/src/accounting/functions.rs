//! The functions and variables of slurmctld that accounting needs.

use std::ffi::{c_char, c_void};

use crate::slurmctld::{Variable, host_functions};
use crate::symbols::{RawJob, wanted};

/// `assoc_mgr_lock_t`: the locks of Slurm's association manager. They come after slurmctld's locks.
#[repr(C)]
pub(super) struct AssocMgrLocks {
    assoc: u32,
    file: u32,
    qos: u32,
    res: u32,
    tres: u32,
    user: u32,
    wckey: u32,
}

/// Read access to the names of the TRES.
pub(super) static READ_TRES: AssocMgrLocks = AssocMgrLocks {
    assoc: slurm_release::NO_LOCK,
    file: slurm_release::NO_LOCK,
    qos: slurm_release::NO_LOCK,
    res: slurm_release::NO_LOCK,
    tres: slurm_release::READ_LOCK,
    user: slurm_release::NO_LOCK,
    wckey: slurm_release::NO_LOCK,
};

host_functions! {
    /// The functions that accounting calls.
    Calls {
        lock_assoc_mgr = c"assoc_mgr_lock": fn(*const AssocMgrLocks);
        unlock_assoc_mgr = c"assoc_mgr_unlock": fn(*const AssocMgrLocks);
        size_in_bytes = c"slurm_xsize": fn(*mut c_void) -> usize;
        write_requested_tres = c"set_job_tres_req_str": fn(RawJob, bool);
        count_allocation = c"job_set_alloc_tres": fn(RawJob, bool);
        is_within_limits = c"acct_policy_job_runnable_post_select": fn(RawJob, *mut u64, bool) -> bool;
    }
}

/// The functions and variables that accounting needs.
pub(super) struct Functions {
    pub(super) call: Calls,
    /// The name of each TRES, for example `gres/vipu`. Guarded by the TRES lock.
    pub(super) tres_names: Variable<*const *const c_char>,
    /// The number of TRES. Guarded by the TRES lock.
    pub(super) tres_count: Variable<u32>,
    /// NULL if the site stores no accounting. It is set once, at the start of slurmctld.
    pub(super) connection: Variable<*mut c_void>,
}

impl Functions {
    /// # Errors
    /// One line that names what this Slurm lacks.
    pub(super) fn resolve_all() -> Result<Self, String> {
        // SAFETY: `char **assoc_mgr_tres_name_array`, `uint32_t g_tres_count` and `void *acct_db_conn` in
        // every release (SAFETY.md, "Accounting").
        unsafe {
            Ok(Self {
                call: Calls::resolve()?,
                tres_names: Variable::resolve(c"assoc_mgr_tres_name_array")?,
                tres_count: Variable::resolve(c"g_tres_count")?,
                connection: Variable::resolve(c"acct_db_conn")?,
            })
        }
    }
}
