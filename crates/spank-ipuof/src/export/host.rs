//! The few functions of Slurm's that the plugin calls, found at run time.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_long, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::options::SpankOption;
use super::{hosts, step};
use crate::task::{Refused, Task};

type Handle = *mut c_void;
type GetItem = unsafe extern "C" fn(Handle, c_int, ...) -> c_int;
type SetEnv = unsafe extern "C" fn(Handle, *const c_char, *const c_char, c_int) -> c_int;
type UnsetEnv = unsafe extern "C" fn(Handle, *const c_char) -> c_int;
type GetContext = unsafe extern "C" fn() -> c_int;
type Log = unsafe extern "C" fn(*const c_char, ...);
type Register = unsafe extern "C" fn(Handle, *mut SpankOption) -> c_int;
type ApiVersion = unsafe extern "C" fn() -> c_long;

/// Items of `spank_get_item`: new releases add some at the end.
const JOB_UID: c_int = 0;
const JOB_ID: c_int = 2;
const STEP_ID: c_int = 3;
const TASKS: c_int = 7;
const JOB_ENVIRONMENT: c_int = 10;
const TASK_ID: c_int = 11;

/// Steps that have no number: a batch script, and salloc's shell where it runs on a node.
const BATCH_STEP: u32 = 0xffff_fffb;
const INTERACTIVE_STEP: u32 = 0xffff_fffa;

/// Which program this is, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// slurmstepd, or a task of its.
    Slurmstepd,
    /// slurmd.
    Slurmd,
    /// srun.
    Srun,
    /// Another command, or what runs prologs.
    Other,
}

/// Slurm lacks a function that it always had.
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
    // SAFETY: slurm.h declares it so in every release.
    let api_version = unsafe { function::<ApiVersion>(c"slurm_api_version") }.ok()?;
    // SAFETY: it takes nothing and returns a constant.
    let version = unsafe { api_version() };
    u32::try_from(version >> 16).ok()
}

/// The file this code was loaded from.
pub(super) fn own_file() -> Option<PathBuf> {
    // SAFETY: all members of the struct may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; `info` lives through the call.
    let found = unsafe { libc::dladdr(own_file as *const c_void, &raw mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: not null; the linker keeps the name as long as the object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// slurm.conf: Slurm puts its path into its own environment, else it is where it was compiled to be.
pub(super) fn slurm_conf() -> Option<PathBuf> {
    let compiled_in = || {
        // SAFETY: the name is a C string, and RTLD_DEFAULT is always a valid place to look.
        let variable = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"default_slurm_config_file".as_ptr()) };
        // SAFETY: null, or a variable of type `char *` that nobody changes.
        let path = unsafe { variable.cast::<*const c_char>().as_ref() }.filter(|path| !path.is_null())?;
        // SAFETY: not null, and a C string as long as the process lives.
        let path = unsafe { CStr::from_ptr(*path) };
        Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
    };
    std::env::var_os("SLURM_CONF").map(PathBuf::from).or_else(compiled_in)
}

/// Writes a line to Slurm's log: where the user types, to the terminal.
pub(super) fn log(line: &str) {
    // SAFETY: spank.h declares it so in every release.
    if let Ok(log) = unsafe { function::<Log>(c"slurm_spank_log") } {
        let line = c_string(line.as_bytes());
        // SAFETY: the format takes one C string, and that is given.
        unsafe { log(c"spank_ipuof: %s".as_ptr(), line.as_ptr()) }
    }
}

/// Which program this is.
pub(super) fn context() -> Context {
    // SAFETY: spank.h declares it so in every release.
    let Ok(context) = (unsafe { function::<GetContext>(c"spank_context") }) else { return Context::Other };
    // SAFETY: it takes nothing, and looks at what Slurm set up before it called us.
    match unsafe { context() } {
        1 => Context::Srun,
        2 => Context::Slurmstepd,
        4 => Context::Slurmd,
        _ => Context::Other,
    }
}

/// Takes a variable out of this process's environment.
pub(super) fn forget(name: &str) {
    let name = c_string(name.as_bytes());
    // SAFETY: a C string. Slurm's commands change their environment at this point themselves: no other thread reads it.
    unsafe { libc::unsetenv(name.as_ptr()) };
}

/// Puts a variable into this process's environment.
pub(super) fn remember(name: &str, value: &OsStr) {
    let (name, value) = (c_string(name.as_bytes()), c_string(value.as_bytes()));
    // SAFETY: C strings, which are copied. As in `forget`.
    unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
}

/// Slurm's handle of a command or step that begins, to which options can be added.
pub(super) struct Registrar {
    handle: Handle,
    register: Register,
}

impl Registrar {
    /// Finds the functions.
    ///
    /// # Safety
    /// `handle` is the one Slurm gave to the `slurm_spank_init` that is running, and is not used after it.
    pub(super) unsafe fn new(handle: Handle) -> Result<Self, MissingSymbol> {
        // SAFETY: spank.h declares these functions so in every release.
        unsafe { Ok(Self { handle, register: function(c"spank_option_register")? }) }
    }

    /// Adds an option.
    pub(super) fn add(&self, option: &mut SpankOption) {
        // SAFETY: the handle is valid; Slurm copies the struct, whose texts are never freed.
        let code = unsafe { (self.register)(self.handle, option) };
        if code != 0 {
            log("an option could not be added: another plugin has one of its name");
        }
    }
}

/// Slurm's handle of a step or task, with what can be asked of it.
pub(super) struct Spank {
    handle: Handle,
    get_item: GetItem,
    setenv: SetEnv,
    unsetenv: UnsetEnv,
}

impl Spank {
    /// Finds the functions.
    ///
    /// # Safety
    /// `handle` is the one Slurm gave to the callback that is running, and is not used after it.
    pub(super) unsafe fn new(handle: Handle) -> Result<Self, MissingSymbol> {
        // SAFETY: spank.h declares these functions so in every release.
        unsafe {
            Ok(Self {
                handle,
                get_item: function(c"spank_get_item")?,
                setenv: function(c"spank_setenv")?,
                unsetenv: function(c"spank_unsetenv")?,
            })
        }
    }

    /// The id of the job's user.
    pub(super) fn user(&self) -> Result<u32, Refused> {
        self.number(JOB_UID)
    }

    /// How many tasks the step has, on all its nodes.
    pub(super) fn tasks(&self) -> Result<u32, Refused> {
        self.number(TASKS)
    }

    /// Whether this is the first task on this node of the first step of its job, as far as a step knows of others.
    pub(super) fn is_first_task(&self) -> bool {
        let is_first_step = |step: u32| [0, BATCH_STEP, INTERACTIVE_STEP].contains(&step);
        self.number(TASK_ID) == Ok(0) && self.number(STEP_ID).is_ok_and(is_first_step)
    }

    /// An item that is a number.
    fn number(&self, item: c_int) -> Result<u32, Refused> {
        let mut number = 0_u32;
        // SAFETY: these items take a pointer to a number of 32 bits.
        let code = unsafe { (self.get_item)(self.handle, item, &raw mut number) };
        check("spank_get_item", code).map(|()| number)
    }
}

impl Task for Spank {
    fn job(&self) -> Result<u32, Refused> {
        self.number(JOB_ID)
    }

    fn is_step_of_user(&self) -> Result<bool, Refused> {
        Ok(![BATCH_STEP, INTERACTIVE_STEP].contains(&self.number(STEP_ID)?))
    }

    fn hosts(&self, list: &str) -> Vec<String> {
        hosts::names(list).unwrap_or_else(|missing| {
            log(&missing.to_string());
            Vec::new()
        })
    }

    fn get(&self, name: &str) -> Option<OsString> {
        let mut variables: *const *const c_char = std::ptr::null();
        // SAFETY: the item takes a pointer to where a list of C strings is to be put.
        let code = unsafe { (self.get_item)(self.handle, JOB_ENVIRONMENT, &raw mut variables) };
        check("spank_get_item", code).ok()?;
        if variables.is_null() {
            return None;
        }
        // SAFETY: the list ends with a null pointer, and no element behind that one is read.
        let pointers = (0..).map(|index| unsafe { *variables.add(index) });
        let present = pointers.take_while(|pointer| !pointer.is_null());
        // SAFETY: each element is a C string; nothing changes the environment while it is read.
        let mut variables = present.map(|variable| unsafe { CStr::from_ptr(variable) }.to_bytes());
        let value = variables.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsString::from_vec(value.to_vec()))
    }

    fn set(&mut self, name: &str, value: &OsStr) -> Result<(), Refused> {
        let (name, value) = (c_string(name.as_bytes()), c_string(value.as_bytes()));
        // SAFETY: both are C strings, which Slurm copies.
        let code = unsafe { (self.setenv)(self.handle, name.as_ptr(), value.as_ptr(), 1) };
        check("spank_setenv", code)
    }

    fn unset(&mut self, name: &str) -> Result<(), Refused> {
        let name = c_string(name.as_bytes());
        // SAFETY: it is a C string.
        let code = unsafe { (self.unsetenv)(self.handle, name.as_ptr()) };
        check("spank_unsetenv", code)
    }

    fn fetched(&self) -> Result<PathBuf, String> {
        step::fetched()
    }
}

fn check(function: &'static str, code: c_int) -> Result<(), Refused> {
    if code == 0 { Ok(()) } else { Err(Refused { function, code }) }
}

/// The bytes as a C string, up to the first NUL if there is one.
pub(super) fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}
