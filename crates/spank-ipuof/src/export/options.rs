//! The options that this plugin adds to `srun`, `sbatch` and `salloc`, and the values that they were given.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use vipu_types::{AfterFailure, Asked, JobOption, Shape};

use super::slurm::{self, Context, FAILURE, Handle, MissingSymbol, SUCCESS, c_string, function, log};
use crate::input;

/// `struct spank_option` of spank.h, the same in every release.
#[repr(C)]
pub(super) struct SpankOption {
    name: *mut c_char,
    value: *mut c_char,
    help: *mut c_char,
    /// 0: has no value, 1: needs one, 2: may have one.
    takes_value: c_int,
    /// Handed to the callback.
    index: c_int,
    callback: unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int,
}

type Register = unsafe extern "C" fn(Handle, *mut SpankOption) -> c_int;

/// Slurm's handle of a command or step that begins. Options can be added to it.
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
        // SAFETY: spank.h declares this function with this type in every release.
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

/// The options read so far: those of the command that the user typed, or of the step that runs.
static ASKED: Mutex<Asked> =
    Mutex::new(Asked { ipus: None, model: None, shape: Shape::OPEN, after_failure: AfterFailure::NONE });

/// Returns the options read so far.
pub(super) fn asked() -> Asked {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds the options to the command, or to the step, that has begun.
pub(super) fn register(registrar: &Registrar) {
    // A command in a job, or in the shell of salloc, inherits variables of that job's request. Its own
    // request is another one.
    if slurm::context() != Context::Slurmstepd {
        forget_inherited();
        for given in given() {
            slurm::remember(&inherited(given.option), &given.value);
        }
    }
    for (index, option) in (0..).zip(JobOption::ALL) {
        registrar.add(&mut of(option, index));
    }
}

/// The options that the command's own variables give, as in `SBATCH_IPUS=16`.
fn given() -> Vec<input::Given> {
    input::given(&program(), |name| std::env::var_os(name))
}

/// The name of the command that runs.
fn program() -> String {
    let program = std::env::current_exe().ok();
    program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default().to_owned()
}

/// Removes all variables that Slurm would read as options, so that no program started by this command
/// inherits them.
fn forget_inherited() {
    for option in JobOption::ALL {
        slurm::forget(&option.variable());
        slurm::forget(&inherited(option));
    }
}

/// The variable from which Slurm reads an option of a SPANK plugin. Slurm reads it when it reads the
/// command's own variables: after `#SBATCH`, before the command line. salloc passes a variable with this kind
/// of name on to its shell.
fn inherited(option: JobOption) -> String {
    format!("SLURM_SPANK_{}", option.variable())
}

fn of(option: JobOption, index: c_int) -> SpankOption {
    let help = option.help();
    // Slurm keeps the pointers as long as the process lives.
    let text = |text: &str| CString::into_raw(c_string(text.as_bytes()));
    SpankOption {
        name: text(help.name),
        value: text(help.value),
        help: text(help.text),
        takes_value: if help.bare.is_some() { 2 } else { 1 },
        index,
        callback: take,
    }
}

/// Takes the value of an option. A bad value stops the command. Where the step runs it is no error here: its
/// effects are reported.
///
/// # Safety
/// Slurm calls it with the option's index and its value, NULL or a C string.
unsafe extern "C" fn take(index: c_int, value: *const c_char, remote: c_int) -> c_int {
    let take = || {
        // SAFETY: not null, so a C string (caller).
        let value = if value.is_null() { c"" } else { unsafe { CStr::from_ptr(value) } }.to_string_lossy();
        let Some(option) = usize::try_from(index).ok().and_then(|index| JobOption::ALL.get(index)) else {
            return FAILURE;
        };
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        match asked.set(*option, &value) {
            Err(why) if remote == 0 => {
                let source = given().into_iter().find(|it| it.option == *option && it.value == *value);
                let source = source.map(|it| format!(" ({})", it.variable)).unwrap_or_default();
                log(&format!("{why}{source}"));
                FAILURE
            }
            _ => {
                let env = |name: &str| std::env::var_os(name);
                let warning = input::warning(&program(), *option, &value, env).filter(|_| remote == 0);
                warning.iter().for_each(|warning| log(warning));
                SUCCESS
            }
        }
    };
    catch_unwind(take).unwrap_or(FAILURE)
}
