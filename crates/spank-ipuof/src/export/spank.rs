//! Slurm's handle of a step or task.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use vipu_types::Words;

use super::slurm::{self, Handle, MissingSymbol, c_string, function, log};
use super::step;
use crate::task::{Refused, Task};

type GetItem = unsafe extern "C" fn(Handle, c_int, ...) -> c_int;
type SetEnv = unsafe extern "C" fn(Handle, *const c_char, *const c_char, c_int) -> c_int;
type UnsetEnv = unsafe extern "C" fn(Handle, *const c_char) -> c_int;

/// Items of `spank_get_item`. New releases add items at the end.
const JOB_UID: c_int = 0;
const JOB_ID: c_int = 2;
const STEP_ID: c_int = 3;
const TASKS: c_int = 7;
const JOB_ENVIRONMENT: c_int = 10;
const TASK_ID: c_int = 11;

/// The ids of steps without a number: a batch script, and salloc's shell where it runs on a node.
const BATCH_STEP: u32 = 0xffff_fffb;
const INTERACTIVE_STEP: u32 = 0xffff_fffa;

/// Slurm's handle of a step or task, with the functions that take it.
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
        // SAFETY: spank.h declares these functions with these types in every release.
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

    /// The number of tasks of the step, on all its nodes.
    pub(super) fn tasks(&self) -> Result<u32, Refused> {
        self.number(TASKS)
    }

    /// Whether this is the first task on this node in step 0, the batch script or salloc's shell. A step has
    /// no better way to find out whether it is the first of its job.
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
        slurm::host_names(list).unwrap_or_else(|missing| {
            log(&missing.to_string());
            Vec::new()
        })
    }

    fn get(&self, name: &str) -> Option<OsString> {
        let mut variables: *const *const c_char = std::ptr::null();
        // SAFETY: the item takes a pointer to a variable for a list of C strings.
        let code = unsafe { (self.get_item)(self.handle, JOB_ENVIRONMENT, &raw mut variables) };
        check("spank_get_item", code).ok()?;
        if variables.is_null() {
            return None;
        }
        // SAFETY: the list ends with a null pointer, and no element behind it is read.
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
        // The runtime of --container gets the environment of this process, and not that of the task.
        // SAFETY: no lock needed; fork has left the task's process with this thread alone. setenv copies both.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
        check("spank_setenv", code)
    }

    fn unset(&mut self, name: &str) -> Result<(), Refused> {
        let name = c_string(name.as_bytes());
        // SAFETY: it is a C string.
        let code = unsafe { (self.unsetenv)(self.handle, name.as_ptr()) };
        // SAFETY: as in `set`.
        unsafe { libc::unsetenv(name.as_ptr()) };
        check("spank_unsetenv", code)
    }

    fn fetched(&self) -> Result<PathBuf, Words> {
        step::fetched()
    }
}

fn check(function: &'static str, code: c_int) -> Result<(), Refused> {
    if code == 0 { Ok(()) } else { Err(Refused { function, code }) }
}
