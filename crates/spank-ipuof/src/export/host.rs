//! The few functions of Slurm that the plugin calls, found at run time.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

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
pub(super) fn soname() -> Option<u32> {
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
