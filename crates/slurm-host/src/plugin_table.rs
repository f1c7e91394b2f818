//! The table through which the small plugins reach `vipu_slurmctld.so`. Every Slurm command loads the small
//! plugins, and only the primary slurmctld loads `vipu_slurmctld.so`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use vipu_types::{Words, words};

use crate::job_test::RawTest;
use crate::shared_object::{self, Object};
use crate::symbols::RawJob;

/// The object that contains everything that only slurmctld needs.
const FILE: &str = "vipu_slurmctld.so";

/// The function of the object that returns the table, of type [`Entry`].
const ENTRY: &CStr = c"vipu_slurmctld_entry";

/// The number of this build: a hash of the version, and of the sources of this crate and of `slurm-release`
/// (`build/main.rs`). Two objects with the same number agree on every type that crosses between them.
pub const BUILD: u64 = match u64::from_str_radix(env!("SLURM_HOST_BUILD"), 10) {
    Ok(build) => build,
    Err(_) => panic!("the build script writes a number"),
};

/// The text of the note in each plugin that has to be of one build with the others.
pub const BUILD_TEXT: &str =
    concat!("slurm-vipu ", env!("CARGO_PKG_VERSION"), " build ", env!("SLURM_HOST_BUILD"), "\0");

/// The result of [`PluginTable::job_test`] after it answered yes in the inner selector's place.
pub const ANSWERED: c_int = c_int::MIN;

/// The result of [`PluginTable::job_tested`] if the test has to be repeated from [`PluginTable::job_test`] on.
pub const AGAIN: c_int = c_int::MIN + 1;

/// Returns the table for a caller of the given build, or NULL when the builds differ.
pub type Entry = unsafe extern "C" fn(build: u64) -> *const PluginTable;

/// The functions that the plugins call in slurmctld. All run under the locks that Slurm took for the plugin.
#[repr(C)]
pub struct PluginTable {
    /// Runs before the inner selector's job_test. Returns 0 to go on, [`ANSWERED`], or the ESLURM code to
    /// refuse with.
    pub job_test: unsafe extern "C" fn(job: RawJob, mode: u16, test: *const RawTest) -> c_int,
    /// Runs after the inner selector's job_test, with its answer. Returns the answer for Slurm, or [`AGAIN`].
    pub job_tested: unsafe extern "C" fn(job: RawJob, mode: u16, test: *const RawTest, code: c_int) -> c_int,
    /// Runs after the inner selector's job_begin. Returns 0, or an error that leaves the job pending.
    pub job_begin: unsafe extern "C" fn(job: RawJob) -> c_int,
    /// Runs after the inner selector has made the job's allocation (nodeinfo_set), before Slurm counts it. At
    /// the start of slurmctld it also runs for jobs of an earlier one.
    pub allocated: unsafe extern "C" fn(job: RawJob),
    /// Runs after the inner selector has changed the nodes of a running job, before Slurm counts them anew.
    pub resized: unsafe extern "C" fn(job: RawJob),
    /// Runs before the inner selector's reconfigure, which reads the allocations of all jobs.
    pub reconfiguring: unsafe extern "C" fn(),
    /// Returns 1 if the inner selector is to be asked, 0 if the job's partition is not ready.
    pub job_ready: unsafe extern "C" fn(job: RawJob) -> c_int,
    /// Runs before the inner selector's job_fini.
    pub job_fini: unsafe extern "C" fn(job: RawJob),
    /// Runs when Slurm has read its nodes and jobs, maybe not for the first time.
    pub jobs_read: unsafe extern "C" fn(),
    /// Runs after the inner selector's reconfigure, at the end of reading slurm.conf (true). It also runs
    /// when a partition is updated, a node is created or deleted, or debug flags are set.
    pub reconfigure: unsafe extern "C" fn(conf_was_read: bool),
    /// Handles job_submit's submit, for the user whom Slurm has authenticated. Returns 0, or the ESLURM code to
    /// reject with.
    pub job_submit:
        unsafe extern "C" fn(description: *mut c_void, user: u32, err_msg: *mut *mut c_char) -> c_int,
    /// Handles job_submit's modify, for changes of a job. Returns 0, or the ESLURM code to reject with.
    pub job_modify:
        unsafe extern "C" fn(description: *mut c_void, job: RawJob, err_msg: *mut *mut c_char) -> c_int,
}

/// Loads `vipu_slurmctld.so` from beside the calling plugin.
pub fn load() -> Result<&'static PluginTable, Words> {
    let path = shared_object::own_folder().ok_or("cannot tell where the plugin was loaded from")?.join(FILE);
    let wrong = |why: Words| words!("cannot use {}: {why}", path.display());
    enter(Object::open(&path).map_err(wrong)?).map_err(wrong)
}

/// Returns the table, if select_vipu.so has loaded `vipu_slurmctld.so`.
pub fn loaded() -> Option<&'static PluginTable> {
    // Every submit asks here, so the file system is searched only until the object is found.
    static LOADED: OnceLock<&'static PluginTable> = OnceLock::new();
    LOADED.get().copied().or_else(|| {
        let controller = enter(Object::opened(&shared_object::own_folder()?.join(FILE))?).ok()?;
        Some(LOADED.get_or_init(|| controller))
    })
}

fn enter(object: Object) -> Result<&'static PluginTable, Words> {
    let entry = object.symbol(ENTRY).ok_or("it is no part of slurm-vipu")?;
    // SAFETY: the symbol of this name is our own `Entry`.
    let entry = unsafe { std::mem::transmute::<NonNull<c_void>, Entry>(entry) };
    // SAFETY: the result is NULL or a static table.
    let table = unsafe { entry(BUILD).as_ref() };
    table.ok_or_else(|| "it is of another build than this plugin; install all files of one release".into())
}
