//! The few functions of Slurm that the plugin calls, found at run time, and the frame around each callback.

use std::any::Any;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use slurm_release::{Series, known_releases, table_file};
use vipu_types::{Words, words};

/// A handle that Slurm gave to a callback.
pub(super) type Handle = *mut c_void;

type GetContext = unsafe extern "C" fn() -> c_int;
type Log = unsafe extern "C" fn(*const c_char, ...);
type ApiVersion = unsafe extern "C" fn() -> c_long;

/// The program in which the plugin runs, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// slurmstepd, or one of its tasks.
    Slurmstepd,
    /// slurmd.
    Slurmd,
    /// srun.
    Srun,
    /// Another command, or the process that runs prologs.
    Other,
}

/// Slurm lacks a function that every known release has.
#[derive(Debug, thiserror::Error)]
#[error("this Slurm has no function {}", .0.to_string_lossy())]
pub(super) struct MissingSymbol(&'static CStr);

/// The function of this name in the running program or its libraries.
///
/// # Safety
/// `F` is the type of a function pointer, and of the function that has this name.
pub(super) unsafe fn function<F: Copy>(name: &'static CStr) -> Result<F, MissingSymbol> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is a C string, and RTLD_DEFAULT is always a valid place to look.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Err(MissingSymbol(name));
    }
    // SAFETY: the address is not null and, as the caller promises, that of a function of type F.
    Ok(unsafe { transmute_copy(&address) })
}

/// The soname number of the libslurm that is loaded, if one is.
fn soname() -> Option<u32> {
    // SAFETY: slurm.h declares it with this type in every release.
    let api_version = unsafe { function::<ApiVersion>(c"slurm_api_version") }.ok()?;
    // SAFETY: it takes nothing and returns a constant.
    let version = unsafe { api_version() };
    u32::try_from(version >> 16).ok()
}

/// The file this code was loaded from.
pub(super) fn own_file() -> Option<PathBuf> {
    // SAFETY: all members of the struct may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address; `info` lives through the call.
    let found = unsafe { libc::dladdr(own_file as *const c_void, &raw mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: not null; the linker keeps the name as long as the object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// The path of slurm.conf: the one that Slurm puts into its own environment, else the one compiled into
/// Slurm.
pub(super) fn slurm_conf() -> Option<PathBuf> {
    let compiled_in = || {
        // SAFETY: the name is a C string, and RTLD_DEFAULT is always a valid place to look.
        let variable = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"default_slurm_config_file".as_ptr()) };
        // SAFETY: null, or a variable of type `char *` that no code changes.
        let path = unsafe { variable.cast::<*const c_char>().as_ref() }.filter(|path| !path.is_null())?;
        // SAFETY: not null, and a C string as long as the process lives.
        let path = unsafe { CStr::from_ptr(*path) };
        Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
    };
    std::env::var_os("SLURM_CONF").map(PathBuf::from).or_else(compiled_in)
}

/// Writes a line to Slurm's log, which in a user's command is the terminal.
pub(super) fn log(line: &str) {
    // SAFETY: spank.h declares it with this type in every release.
    if let Ok(log) = unsafe { function::<Log>(c"slurm_spank_log") } {
        let line = c_string(line.as_bytes());
        // SAFETY: the format takes one C string, and gets one.
        unsafe { log(c"spank_ipuof: %s".as_ptr(), line.as_ptr()) }
    }
}

/// The program in which the plugin runs.
pub(super) fn context() -> Context {
    // SAFETY: spank.h declares it with this type in every release.
    let Ok(context) = (unsafe { function::<GetContext>(c"spank_context") }) else { return Context::Other };
    // SAFETY: it takes nothing, and reads state that Slurm set up before it called us.
    match unsafe { context() } {
        1 => Context::Srun,
        2 => Context::Slurmstepd,
        4 => Context::Slurmd,
        _ => Context::Other,
    }
}

/// Removes a variable from this process's environment.
pub(super) fn forget(name: &str) {
    let name = c_string(name.as_bytes());
    // SAFETY: a C string. Slurm's commands change their environment at this point themselves, so no other
    // thread reads it.
    unsafe { libc::unsetenv(name.as_ptr()) };
}

/// Sets a variable in this process's environment.
pub(super) fn remember(name: &str, value: &OsStr) {
    let (name, value) = (c_string(name.as_bytes()), c_string(value.as_bytes()));
    // SAFETY: C strings, which are copied. Slurm's commands change their environment at this point
    // themselves, so no other thread reads it.
    unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
}

/// The bytes as a C string, up to the first NUL if there is one.
pub(super) fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Shift = unsafe extern "C" fn(*mut c_void) -> *mut c_char;
type Destroy = unsafe extern "C" fn(*mut c_void);

/// The names in a list.
pub(super) fn host_names(list: &str) -> Result<Vec<String>, MissingSymbol> {
    // SAFETY: slurm.h declares these functions with these types in every release; up to 23.02 the list is a
    // pointer with another name.
    let (create, shift, destroy) = unsafe {
        (
            function::<Create>(c"slurm_hostlist_create")?,
            function::<Shift>(c"slurm_hostlist_shift")?,
            function::<Destroy>(c"slurm_hostlist_destroy")?,
        )
    };
    let mut names = Vec::new();
    // SAFETY: a C string; the list is destroyed once, after its last use; each name is a C string from
    // malloc.
    unsafe {
        let list = create(c_string(list.as_bytes()).as_ptr());
        if list.is_null() {
            return Ok(names);
        }
        loop {
            let name = shift(list);
            if name.is_null() {
                break;
            }
            names.push(CStr::from_ptr(name).to_string_lossy().into_owned());
            libc::free(name.cast());
        }
        destroy(list);
    }
    Ok(names)
}

/// The result of a callback that succeeded.
pub(super) const SUCCESS: c_int = 0;

/// The result that stops the task if the plugin is `required`.
pub(super) const FAILURE: c_int = -1;

/// Does a callback's work. Logs an error, and catches a panic and logs it as an error.
pub(super) fn answer<S>(
    spank: Result<S, MissingSymbol>,
    work: impl FnOnce(&mut S) -> Result<(), Words>,
) -> c_int {
    let Ok(mut spank) = spank.inspect_err(|error| eprintln!("spank_ipuof: {error}")) else {
        return FAILURE;
    };
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut spank)));
    match result.unwrap_or_else(|panic| Err(words!("a bug in spank_ipuof.so: {}", text_of(&*panic)))) {
        Ok(()) => SUCCESS,
        Err(error) => {
            log(&error);
            FAILURE
        }
    }
}

/// The message of a panic.
pub(super) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}

/// The series, from the soname of the libslurm that is loaded.
///
/// For a soname that is newer than this build, the table file names the series, as for the other plugins.
pub(super) fn series() -> Result<Series, Words> {
    let soname = soname().ok_or("no libslurm is loaded here")?;
    if let Some(series) = Series::of_soname(soname) {
        return Ok(series);
    }
    let beside = slurm_conf().into_iter().chain(own_file());
    let table = table_file::find(beside.filter_map(|file| Some(file.parent()?.to_owned())));
    let found = match table {
        Ok(Some((path, table))) => match table.series_of_soname(soname) {
            Some(series) => return Ok(series),
            None => format!("{} is of Slurm {}", path.display(), table.release.version),
        },
        Ok(None) => format!("there is no {} beside slurm.conf", table_file::NAME),
        Err(why) => why,
    };
    Err(words!(
        "libslurm.so.{soname} is of no release known to this build (known: {}) and {found}; measure it with \
         `cargo xtask layout --source DIR`, see docs/releases.md",
        known_releases()
    ))
}
