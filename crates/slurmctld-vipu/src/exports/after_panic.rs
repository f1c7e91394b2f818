//! The answers of callbacks that panicked. The job of the callback waits, or is ended a moment later. No
//! other job is affected.
//!
//! Each function runs inside the callback, so the callback's arguments and locks are still valid.

use std::ffi::{c_char, c_int, c_void};

use ledger::Ending;
use slurm_host::job::{JobMut, JobRef};
use slurm_host::release::{ESLURM_INVALID_GRES, ESLURM_NODES_BUSY, is_start};
use slurm_host::submit::{self, JobDescription};
use slurm_host::symbols::RawJob;
use slurm_host::{boundary, selfcheck};
use vipu_types::JobOption;

use super::name;
use crate::plugin::plugin;
use crate::slurm_records::SlurmJobMut;

/// Whether a job asks for IPUs. True if that cannot be found out.
pub(super) fn is_for_ipus(job: RawJob) -> bool {
    boundary::guard(&|| name("is_for_ipus", job), true, || {
        // SAFETY: Slurm's job in its own callback, under at least the job read lock.
        let seen = unsafe { JobRef::from_callback(job) };
        // SAFETY: Slurm's job in its own callback, under at least the job read lock.
        seen.map_or_else(|| unsafe { selfcheck::wants_ipus(job) }, JobRef::mentions_vipu)
    })
}

/// The answer to a test: an IPU job waits and is tested again, any other job gets `otherwise`.
pub(super) fn unsure(job: RawJob, mode: u16, otherwise: c_int) -> c_int {
    if !is_start(mode) || !is_for_ipus(job) {
        return otherwise;
    }
    show_reason(job);
    ESLURM_NODES_BUSY.cast_signed()
}

/// Undoes a job_begin and returns its answer: an IPU job stays pending, and begins again later.
pub(super) fn undo_begin(job: RawJob) -> c_int {
    if !is_for_ipus(job) {
        return 0;
    }
    boundary::guard(&|| name("undo_begin", job), (), || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        if let (Some(plugin), Some(job)) = (plugin(), unsafe { JobMut::from_callback(job) }) {
            frontend::undo_begin(&plugin.frontend, SlurmJobMut::new(job));
        }
    });
    show_reason(job);
    -1
}

/// Lets the host thread finish a job_fini. `ending` is the ending that the job has already been given.
pub(super) fn end_later(job: RawJob, ending: Option<Ending>) {
    boundary::guard(&|| name("end_later", job), (), || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        if let (Some(plugin), Some(job)) = (plugin(), unsafe { JobRef::from_callback(job) }) {
            plugin.frontend.end_job(job.id(), ending);
        }
    });
}

/// The answer to a submit that could not be checked: a job that asks for IPUs is refused.
pub(super) fn refuse_ipus(description: *mut c_void, err_msg: *mut *mut c_char) -> c_int {
    boundary::guard(&|| "refuse_ipus".into(), 0, || {
        // SAFETY: the message of the running job_submit callback.
        let description = unsafe { JobDescription::from_callback(description) };
        let by_gres = |tres: Option<String>| tres.is_some_and(|tres| tres.contains("vipu"));
        let by_option = |it: &JobDescription<'_>| !it.options(JobOption::PREFIX).is_empty();
        if !description.is_some_and(|it| by_gres(it.tres_per_node()) || by_option(&it)) {
            return 0;
        }
        // SAFETY: the answer variable of the running job_submit callback, or NULL.
        unsafe { submit::tell(err_msg, frontend::INTERNAL_ERROR_TO_USER) };
        ESLURM_INVALID_GRES.cast_signed()
    })
}

/// Makes IPU jobs wait until slurmctld is restarted, because the state of the front end may be wrong.
pub(super) fn give_up() {
    boundary::guard(&|| "give_up".into(), (), || {
        if let Some(plugin) = plugin() {
            plugin.frontend.distrust();
        }
    });
}

fn show_reason(job: RawJob) {
    boundary::guard(&|| name("show_reason", job), (), || {
        // SAFETY: Slurm's job in its own callback, under at least the job read lock.
        if let (Some(plugin), Some(job)) = (plugin(), unsafe { JobRef::from_callback(job) }) {
            plugin.frontend.show_internal_error(job.id());
        }
    });
}
