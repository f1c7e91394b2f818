//! Calls of `vipu_slurmctld.so` before or after the stock selector. Each call has a guard of its own, so that
//! the stock selector is asked, and its answer counts, also if the call panics.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use slurm_host::differences::plugin_id;
use slurm_host::job::{JobMut, JobRef};
use slurm_host::job_test::RawTest;
use slurm_host::plugin_table::{self, PluginTable};
use slurm_host::symbols::{self, RawJob};
use slurm_host::{boundary, log, release, selfcheck};
use vipu_types::JobOption;

/// `vipu_slurmctld.so`. It is set at the first reconfigure of the primary slurmctld, to `None` if the object
/// cannot be used.
static PLUGIN_TABLE: OnceLock<Option<&'static PluginTable>> = OnceLock::new();

/// Whether slurm.conf was read since the last reconfigure. Slurm calls select_p_node_init in that case only,
/// before select_p_reconfigure.
static CONF_WAS_READ: AtomicBool = AtomicBool::new(false);

fn plugin_table() -> Option<&'static PluginTable> {
    PLUGIN_TABLE.get().copied().flatten()
}

/// Calls `vipu_slurmctld.so`, if it is there.
fn tell(name: &'static str, call: impl FnOnce(&PluginTable)) {
    if let Some(controller) = plugin_table() {
        boundary::guard(&|| name.into(), (), || call(controller));
    }
}

/// Lets slurmctld read the jobs that it saves without this plugin, too.
pub(super) fn packing_job(buffer: *mut c_void) -> Option<c_int> {
    // SAFETY: no lock needed; the buffer of the running callback.
    unsafe { plugin_id::save_stock_id(buffer) };
    None
}

/// Tests a job: asks for IPUs before and after the stock selector, until no other nodes have to be tried.
pub(super) fn job_test(job: RawJob, mode: u16, test: &RawTest, ask: impl Fn() -> c_int) -> c_int {
    loop {
        if let Some(answer) = before_test(job, mode, test) {
            return answer;
        }
        let answer = after_test(job, mode, test, ask());
        if answer != plugin_table::AGAIN {
            return answer;
        }
    }
}

/// Answers for jobs whose IPUs are not free. `None` lets the stock selector decide.
fn before_test(job: RawJob, mode: u16, test: &RawTest) -> Option<c_int> {
    let controller = PLUGIN_TABLE.get()?;
    let unsure = || refuse_without_controller(job, mode);
    let code = boundary::guard_else(&|| "hook_job_test".into(), unsure, || match controller {
        // SAFETY: Slurm's job and arguments under the job write lock of this callback.
        Some(controller) => unsafe { (controller.job_test)(job, mode, test) },
        None => refuse_without_controller(job, mode),
    });
    match code {
        0 => None,
        plugin_table::ANSWERED => Some(0),
        refused => Some(refused),
    }
}

/// Corrects an answer of the stock selector for the job's IPUs.
fn after_test(job: RawJob, mode: u16, test: &RawTest, code: c_int) -> c_int {
    let Some(controller) = plugin_table() else { return code };
    boundary::guard(&|| "hook_job_tested".into(), code, || {
        // SAFETY: Slurm's job and arguments under the job write lock of this callback.
        unsafe { (controller.job_tested)(job, mode, test, code) }
    })
}

/// The answer without vipu_slurmctld.so, which alone makes partitions: IPU jobs wait, others are not
/// affected.
fn refuse_without_controller(job: RawJob, mode: u16) -> c_int {
    if release::is_start(mode) && wants_ipus(job) { release::ESLURM_NODES_BUSY.cast_signed() } else { 0 }
}

/// Whether the job asks for IPUs, by its GRES or by options that were not translated.
fn wants_ipus(job: RawJob) -> bool {
    // SAFETY: the job of the running callback, under the job write lock.
    let is_mentioned = unsafe { selfcheck::wants_ipus(job) };
    // SAFETY: the job of the running callback, under the job write lock.
    let seen = || unsafe { JobRef::from_callback(job) };
    is_mentioned || seen().is_some_and(|job| !job.options(JobOption::PREFIX).is_empty())
}

/// Claims the job's IPUs once it has its nodes.
pub(super) fn job_begin(job: RawJob, code: c_int) -> c_int {
    boundary::guard(&|| "hook_job_begin".into(), -1, || match plugin_table() {
        // SAFETY: Slurm's job under the job write lock of this callback.
        Some(controller) if code == 0 => unsafe { (controller.job_begin)(job) },
        _ => code,
    })
}

/// Runs before the stock selector makes or reads a job's allocation. The records of an earlier slurmctld may
/// be those of an earlier run, or still have the number of IPUs, and `vipu_slurmctld.so` is not loaded yet when
/// slurmctld starts.
pub(super) fn allocating(job: RawJob) -> Option<c_int> {
    boundary::guard(&|| "hook_allocating".into(), (), || {
        // SAFETY: Slurm's job under the job write lock of this callback.
        if let Some(mut job) = unsafe { JobMut::from_callback(job) } {
            job.free_emptied_allocation();
            job.clear_allocated_ipus();
        }
    });
    None
}

/// Has Slurm count the IPUs of a job that begins.
pub(super) fn allocated(job: RawJob, code: c_int) -> c_int {
    // SAFETY: Slurm's job under the job write lock of this callback.
    tell("hook_allocated", |controller| unsafe { (controller.allocated)(job) });
    code
}

/// Has Slurm count the IPUs of a job whose nodes have changed.
pub(super) fn resized<T>(job: RawJob, answer: T) -> T {
    // SAFETY: Slurm's job under the job write lock of this callback.
    tell("hook_resized", |controller| unsafe { (controller.resized)(job) });
    answer
}

/// Runs before the stock selector reads the allocations of all jobs anew.
pub(super) fn reconfiguring() -> Option<c_int> {
    // SAFETY: under the locks that Slurm holds around select_p_reconfigure.
    tell("hook_reconfiguring", |controller| unsafe { (controller.reconfiguring)() });
    None
}

/// Returns `Some(0)`, not yet, while the job's partition is not ready. It never returns an error, because
/// Slurm takes -1 for ready.
pub(super) fn job_ready(job: RawJob) -> Option<c_int> {
    let controller = plugin_table()?;
    let ready = boundary::guard(&|| "hook_job_ready".into(), 0, || {
        // SAFETY: Slurm's job under at least the job read lock of this callback.
        unsafe { (controller.job_ready)(job) }
    });
    (ready == 0).then_some(0)
}

/// Begins to release the job's IPUs. The stock selector is asked in any case.
pub(super) fn job_fini(job: RawJob) -> Option<c_int> {
    // SAFETY: Slurm's job under the job write lock of this callback.
    tell("hook_job_fini", |controller| unsafe { (controller.job_fini)(job) });
    None
}

/// Runs after Slurm has read its jobs, and before it changes them.
pub(super) fn node_init(code: c_int) -> c_int {
    CONF_WAS_READ.store(true, Ordering::Relaxed);
    // SAFETY: under the locks that Slurm holds around select_p_node_init.
    tell("hook_node_init", |controller| unsafe { (controller.jobs_read)() });
    code
}

/// Runs after each reading of the configuration. The first call comes when this slurmctld is primary. Slurm
/// also calls it without a reading; then nothing is loaded.
pub(super) fn reconfigure(code: c_int) -> c_int {
    boundary::guard(&|| "hook_reconfigure".into(), (), || {
        if !symbols::in_slurmctld() {
            return;
        }
        let conf_was_read = CONF_WAS_READ.swap(false, Ordering::Relaxed);
        let load = || {
            plugin_table::load()
                .inspect_err(|why| log::error(&format!("select/vipu: {why}; IPU jobs will not start")))
                .ok()
        };
        let controller = if conf_was_read { *PLUGIN_TABLE.get_or_init(load) } else { plugin_table() };
        if let Some(controller) = controller {
            // SAFETY: under the locks that Slurm holds around select_p_reconfigure.
            unsafe { (controller.reconfigure)(conf_was_read) };
        }
    });
    code
}
