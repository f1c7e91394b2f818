//! The table of functions that `select_vipu.so` and `job_submit_vipu.so` call.

mod after_panic;

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;

use frontend::{Frontend, Verdict, accounting};
use ledger::Seconds;
use slurm_host::differences::refused_start;
use slurm_host::job::{JobMut, JobRef};
use slurm_host::job_test::{RawTest, Test};
use slurm_host::plugin_table::{AGAIN, ANSWERED, BUILD, PluginTable};
use slurm_host::release::{
    ESLURM_INVALID_GRES, ESLURM_NODES_BUSY, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, is_run_now, is_start,
};
use slurm_host::submit::{self, JobDescription};
use slurm_host::symbols::RawJob;
use slurm_host::{boundary, conf, locks, log, node_gres, selfcheck, threads};
use vipu_types::Words;

use crate::plugin::{self, Ends, Plugin, plugin};
use crate::slurm_records::{SlurmDescription, SlurmJob, SlurmJobMut, SlurmTest, question};
use crate::start_line::Surroundings;
use crate::user_requests;

slurm_host::version_note!(slurm_host::plugin_table::BUILD_TEXT);

static CONTROLLER: PluginTable = PluginTable {
    job_test,
    job_tested,
    job_begin,
    allocated,
    resized,
    reconfiguring,
    job_ready,
    job_fini,
    jobs_read,
    reconfigure,
    job_submit,
    job_modify,
};

/// The answer of a callback without one, after a panic.
const NOTHING: fn() = || ();

/// Returns the table to a plugin of the same build, and NULL to any other.
// SAFETY: (attribute) the name is ours, and no other object has it.
#[unsafe(no_mangle)]
extern "C" fn vipu_slurmctld_entry(build: u64) -> *const PluginTable {
    if build == BUILD { &raw const CONTROLLER } else { std::ptr::null() }
}

unsafe extern "C" fn job_test(job: RawJob, mode: u16, test: *const RawTest) -> c_int {
    let unsure = || after_panic::unsure(job, mode, 0);
    boundary::callback(&|| name("job_test", job), unsure, || {
        // SAFETY: Slurm's job and arguments in its own callback, under the job write lock.
        let seen = unsafe { (JobMut::from_callback(job), Test::from_callback(*test)) };
        let (Some(plugin), (Some(job), Some(test))) = (plugin(), seen) else {
            // The plugin has switched itself off, see selfcheck: no IPU job starts, others are not affected.
            // SAFETY: Slurm's job in its own callback, under the job write lock.
            let refused = is_start(mode) && unsafe { selfcheck::wants_ipus(job) };
            return if refused { ESLURM_NODES_BUSY.cast_signed() } else { 0 };
        };
        if let Some(code) = refused_start::of_test(*job, mode) {
            return code;
        }
        let (mut job, mut test) = (SlurmJobMut::new(job), SlurmTest(test));
        let _timer = plugin.counters.job_test();
        match frontend::before(&plugin.frontend, &mut job, question(mode), &mut test) {
            Verdict::Go | Verdict::Again => 0,
            Verdict::Answered => ANSWERED,
            Verdict::Wait if is_start(mode) => refused_start::of_start(job.0, &test.0),
            Verdict::Wait => ESLURM_NODES_BUSY.cast_signed(),
            Verdict::Never => ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE.cast_signed(),
        }
    })
}

unsafe extern "C" fn job_tested(job: RawJob, mode: u16, test: *const RawTest, code: c_int) -> c_int {
    // A start that the stock selector has allowed is not taken back: job_begin comes next.
    let unsure = || if is_run_now(mode) { code } else { after_panic::unsure(job, mode, code) };
    boundary::callback(&|| name("job_tested", job), unsure, || {
        // SAFETY: Slurm's job and arguments in its own callback, under the job write lock.
        let seen = unsafe { (JobMut::from_callback(job), Test::from_callback(*test)) };
        let (Some(plugin), (Some(job), Some(test))) = (plugin(), seen) else { return code };
        let (mut job, mut test) = (SlurmJobMut::new(job), SlurmTest(test));
        if code != 0 {
            return if frontend::refused(&plugin.frontend, *job, &mut test) { AGAIN } else { code };
        }
        let _timer = plugin.counters.job_test();
        match frontend::after(&plugin.frontend, &mut job, question(mode), &mut test) {
            Verdict::Go | Verdict::Answered => code,
            Verdict::Again => AGAIN,
            Verdict::Wait if is_run_now(mode) => {
                job.give_up_resources();
                refused_start::of_start(job.0, &test.0)
            }
            Verdict::Wait | Verdict::Never => ESLURM_NODES_BUSY.cast_signed(),
        }
    })
}

/// Changes the job of a callback. Returns `otherwise` without a plugin, or if the job's record cannot be used.
///
/// # Safety
/// Slurm's job in its own callback, under the job write lock.
unsafe fn change<R>(job: RawJob, otherwise: R, body: impl FnOnce(&Frontend, SlurmJobMut<'_>) -> R) -> R {
    // SAFETY: job write lock (caller).
    match (plugin(), unsafe { JobMut::from_callback(job) }) {
        (Some(plugin), Some(job)) => body(&plugin.frontend, SlurmJobMut::new(job)),
        _ => otherwise,
    }
}

unsafe extern "C" fn job_begin(job: RawJob) -> c_int {
    let undo = || after_panic::undo_begin(job);
    boundary::callback(&|| name("job_begin", job), undo, || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        let has_begun = unsafe { change(job, true, |frontend, job| frontend::job_begin(frontend, job)) };
        if has_begun { 0 } else { -1 }
    })
}

unsafe extern "C" fn allocated(job: RawJob) {
    boundary::callback(&|| name("allocated", job), NOTHING, || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        unsafe { change(job, (), |frontend, job| accounting::allocated(frontend, job)) }
    });
}

unsafe extern "C" fn resized(job: RawJob) {
    boundary::callback(&|| name("resized", job), NOTHING, || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        unsafe { change(job, (), |frontend, job| accounting::resized(frontend, job)) }
    });
}

unsafe extern "C" fn reconfiguring() {
    boundary::callback(&|| "reconfiguring".into(), NOTHING, || {
        let Some(plugin) = plugin() else { return };
        if !accounting::is_any_entered(&plugin.frontend) {
            return;
        }
        let mut clear = |job: JobMut<'_>| accounting::clear(&plugin.frontend, &mut SlurmJobMut::new(job));
        // SAFETY: select_p_reconfigure runs under a job lock, and no other thread writes these records.
        let _ = unsafe { locks::for_each_job(&mut clear) };
    });
}

unsafe extern "C" fn job_ready(job: RawJob) -> c_int {
    let unsure = || (!after_panic::is_for_ipus(job)).into();
    boundary::callback(&|| name("job_ready", job), unsure, || {
        // SAFETY: Slurm's job in its own callback, under at least the job read lock.
        let Some(job) = (unsafe { JobRef::from_callback(job) }) else { return 1 };
        // Without a plugin the jobs of an earlier slurmctld have not been taken over yet.
        let ready = |plugin: &Plugin| frontend::job_ready(&plugin.frontend, SlurmJob(job));
        plugin().map_or_else(|| !job.mentions_vipu(), |plugin| ready(&plugin)).into()
    })
}

unsafe extern "C" fn job_fini(job: RawJob) {
    let ending = Cell::new(None);
    let again = || after_panic::end_later(job, ending.get());
    boundary::callback(&|| name("job_fini", job), again, || {
        // SAFETY: Slurm's job in its own callback, under the job write lock.
        unsafe { change(job, (), |frontend, job| frontend::job_fini(frontend, job, &ending)) }
    });
}

unsafe extern "C" fn jobs_read() {
    boundary::callback(&|| "jobs_read".into(), after_panic::give_up, plugin::close_when_over);
}

unsafe extern "C" fn reconfigure(conf_was_read: bool) {
    static LOG: Once = Once::new();
    boundary::callback(&|| "reconfigure".into(), plugin::close_unstarted, || {
        LOG.call_once(|| {
            if let Err(why) = threads::watch_for_replacement() {
                log::error(&format!("select/vipu: no file to tell a reconfigure in place by: {why}; raise slurmctld's limit of open files"));
            }
            boundary::log_panics();
            log::trace_to_slurm(&["vipu_slurmctld", "frontend", "driver", "vipu_client"]);
        });
        if let Err(why) = slurm_host::check() {
            log::error(&format!("select/vipu: {why}; IPU jobs will not start"));
            return;
        }
        if !selfcheck::conf_is_as_expected() {
            if !selfcheck::is_pass_through() {
                log::error(
                    "select/vipu: slurm.conf cannot be checked now; IPU jobs wait until 'scontrol reconfigure'",
                );
            }
            return;
        }
        // SAFETY: select_p_reconfigure runs under the node lock.
        let Some(nodes) = (unsafe { node_gres::gres_of_all() }) else {
            log::error(
                "select/vipu: the nodes cannot be read now; the models of before stay in force until 'scontrol reconfigure'",
            );
            return;
        };
        if !conf_was_read {
            if let Some(plugin) = plugin() {
                plugin.nodes_changed(&nodes);
            }
            return;
        }
        let (plugin, ends) = plugin::open();
        plugin.reconfigure(&nodes);
        if let Some(ends) = ends {
            boundary::guard_else(&|| "take_over".into(), after_panic::give_up, || {
                // SAFETY: the first reconfigure ends read_slurm_conf, which holds all locks for writing.
                unsafe { take_over(&plugin, ends) };
            });
        }
    });
}

/// Takes over the jobs of an earlier slurmctld, and starts the threads.
///
/// If that stops half-way, the partition of a job that was not seen would look like an orphan. Then no
/// partition is made or removed, IPU jobs wait with the reason, and no job is held at its end.
///
/// # Safety
/// Only in the reconfigure at the end of `read_slurm_conf`, which holds all locks for writing.
unsafe fn take_over(plugin: &Plugin, ends: Ends) {
    plugin.set_started();
    // All jobs are read before the first is taken over: after a failure nothing could open the gates of some.
    // SAFETY: job write lock (caller).
    let can_all_be_read = unsafe { locks::for_each_job(&mut |_| {}) };
    if selfcheck::is_pass_through() {
        return;
    }
    let threads = ends.start_host();
    if let Err(why) = &threads {
        plugin.frontend.distrust_because(&format!("{why}; restart slurmctld"));
    }
    // SAFETY: job write lock (caller).
    let adopted =
        unsafe { locks::for_each_job(&mut |job| frontend::adopt(&plugin.frontend, SlurmJobMut::new(job))) }
            && can_all_be_read;
    if !adopted {
        let what = "not all of Slurm's jobs could be read, see slurmctld's log; restart slurmctld";
        plugin.frontend.distrust_because(what);
        log::error(&format!("select/vipu: {what}; no partition is made or removed until then"));
    }
    let state = conf::state_save_location().unwrap_or_default();
    let saved = unix_time_of(&state.join("job_state"));
    let journal = adopted.then(|| state.join("vipu_journal"));
    if let Err(why) = threads.and_then(|threads| threads.start_driver(journal, saved, Surroundings::read())) {
        log::error(&format!("select/vipu: {why}; IPU jobs will not start"));
        plugin.frontend.distrust_because(&format!("{why}; restart slurmctld"));
    }
}

/// The time at which this file was last written.
fn unix_time_of(file: &Path) -> Option<Seconds> {
    file.metadata().ok().map(|found| Seconds(found.mtime()))
}

unsafe extern "C" fn job_submit(description: *mut c_void, user: u32, err_msg: *mut *mut c_char) -> c_int {
    let unsure = || after_panic::refuse_ipus(description, err_msg);
    boundary::callback(&|| "job_submit".into(), unsure, || {
        // SAFETY: the message of the running job_submit callback.
        let description = unsafe { JobDescription::from_callback(description) };
        let Some(mut description) = description.map(SlurmDescription) else { return 0 };
        frontend::drop_forged(&mut description);
        let judged = match plugin() {
            Some(plugin) => match user_requests::answer(&plugin, &description.0, user) {
                Some(line) => Err(line),
                None => frontend::submitted(&plugin.frontend, &mut description),
            },
            None => frontend::refuse_ipus(&description),
        };
        // SAFETY: the answer variable of the running job_submit callback, or NULL.
        unsafe { answer(judged, err_msg) }
    })
}

unsafe extern "C" fn job_modify(description: *mut c_void, job: RawJob, err_msg: *mut *mut c_char) -> c_int {
    let unsure = || after_panic::refuse_ipus(description, err_msg);
    boundary::callback(&|| name("job_modify", job), unsure, || {
        // SAFETY: the message and the job of the running job_modify callback, under the job write lock.
        let seen = unsafe { (JobDescription::from_callback(description), JobRef::from_callback(job)) };
        let (Some(plugin), (Some(description), Some(job))) = (plugin(), seen) else { return 0 };
        let changed = frontend::changed(&plugin.frontend, &mut SlurmDescription(description), SlurmJob(job));
        // SAFETY: the answer variable of the running job_modify callback, or NULL.
        unsafe { answer(changed, err_msg) }
    })
}

/// Writes the notice or the refusal for the user. Returns 0, or the code to reject with.
unsafe fn answer(judged: Result<Option<String>, Words>, err_msg: *mut *mut c_char) -> c_int {
    let (code, line) = match judged {
        Ok(notice) => (0, notice),
        Err(line) => (ESLURM_INVALID_GRES.cast_signed(), Some(line.into())),
    };
    if let Some(line) = line {
        // SAFETY: passed on to the caller.
        unsafe { submit::tell(err_msg, &line) };
    }
    code
}

/// The name of a call and its job, for the error line of a panic.
fn name(call: &str, job: RawJob) -> String {
    // SAFETY: Slurm's job in its own callback, under at least the job read lock.
    let id = unsafe { JobRef::from_callback(job) }.map_or(0, JobRef::id);
    format!("{call} of job {id}")
}
