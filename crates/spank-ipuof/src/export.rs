//! The symbols of a SPANK plugin, which are all that Slurm sees.
//!
//! The object names no symbol of Slurm, so it loads anywhere. It finds out at load time in which release it
//! is, so one object serves all releases.

mod options;
mod slurm;
mod spank;
mod srun;
mod step;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::environment_change::grant;
use crate::task::{Task, prepare};
use crate::{node_fitness, sharing};
use options::Registrar;
use slurm::{Context, SUCCESS, answer, text_of};
use spank::Spank;
use vipu_types::{Preflight, SpankArguments, Words, words};

/// The plugin's name in Slurm's log.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_name: [u8; 12] = *b"spank_ipuof\0";

/// The kind of plugin.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_type: [u8; 6] = *b"spank\0";

vipu_types::version_note!(concat!("slurm-vipu ", env!("CARGO_PKG_VERSION"), "\0"));

/// The series of the Slurm that loaded the plugin, zero if it is unknown. Slurm does not want the third
/// number of the release from SPANK plugins.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_version: AtomicU32 = AtomicU32::new(0);

/// The version of this plugin's own options and behaviour.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static spank_plugin_version: u32 = 1;

// SAFETY: the dynamic linker calls the functions in this section when it loads the object. This function has
// the type that the linker wants, needs nothing but the linker itself, and does not unwind.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = set_version;

/// Sets [`plugin_version`] before Slurm reads it.
extern "C" fn set_version() {
    match catch_unwind(slurm::series) {
        Ok(Ok(series)) => plugin_version.store(series.first_version().0, Ordering::Relaxed),
        Ok(Err(why)) => eprintln!("spank_ipuof: {why}"),
        Err(panic) => eprintln!("spank_ipuof: a bug in spank_ipuof.so: {}", text_of(&*panic)),
    }
}

/// Adds the options. In slurmstepd it tells the administrator of wrong arguments, and jobs without IPUs run
/// nevertheless. In slurmd it cleans up after steps that were killed.
///
/// # Safety
/// Slurm calls it with its handle and `argc` words, all of them valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_init(
    spank: *mut c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: Slurm's own handle.
    let registrar = unsafe { Registrar::new(spank) };
    answer(registrar, |registrar| {
        options::register(registrar);
        // SAFETY: the arguments are passed on as Slurm gave them.
        let arguments = SpankArguments::parse(&unsafe { words(argc, argv) });
        match (arguments.wrong(), slurm::context()) {
            (Some(error), Context::Slurmstepd) => {
                Err(words!("jobs with IPUs will fail on this node: {error}"))
            }
            (_, Context::Slurmd) => step::slurmd_starts(&arguments),
            _ => Ok(()),
        }
    });
    SUCCESS
}

/// Acts on the options that were read. srun tells its tasks if their step has no IPUs; slurmstepd fetches the
/// config files of its tasks. Both run on after an error.
///
/// # Safety
/// Slurm calls it with its handle and `argc` words, all of them valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_init_post_opt(
    spank: *mut c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: Slurm's own handle.
    let spank = unsafe { Spank::new(spank) };
    answer(spank, |spank| match slurm::context() {
        Context::Srun => {
            srun::tell_tasks();
            Ok(())
        }
        // SAFETY: the arguments are passed on as Slurm gave them.
        Context::Slurmstepd => step::begins(spank, &SpankArguments::parse(&unsafe { words(argc, argv) })),
        _ => Ok(()),
    });
    SUCCESS
}

/// Warns the user of srun, before the tasks of a step start, if some of them share IPUs.
///
/// # Safety
/// Slurm calls it with its handle and `argc` words, all of them valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_local_user_init(
    spank: *mut c_void,
    _argc: c_int,
    _argv: *const *const c_char,
) -> c_int {
    // SAFETY: Slurm's own handle.
    let spank = unsafe { Spank::new(spank) };
    answer(spank, |spank| {
        let found = spank.job().ok().zip(spank.tasks().ok());
        let warning = found.and_then(|(job, tasks)| {
            sharing::warning(&grant(job, |name| std::env::var_os(name)).ok()??, tasks)
        });
        warning.iter().for_each(|line| slurm::log(line));
        Ok(())
    });
    SUCCESS
}

/// Gives a task its environment, or stops it.
///
/// # Safety
/// Slurm calls it with its handle and `argc` words, all of them valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_task_init(
    spank: *mut c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: Slurm's own handle.
    let spank = unsafe { Spank::new(spank) };
    answer(spank, |spank| {
        // SAFETY: the arguments are passed on as Slurm gave them.
        let arguments = SpankArguments::parse(&unsafe { words(argc, argv) });
        prepare(spank, &arguments, options::asked().ipus).map_err(Words::of)?;
        look_at_node(spank, arguments.preflight)
    })
}

/// Checks whether the node is fit for a task with IPUs. A job needs only one warning for each of its nodes.
fn look_at_node(spank: &Spank, preflight: Preflight) -> Result<(), Words> {
    let has_ipus = spank.job().is_ok_and(|job| matches!(grant(job, |name| spank.get(name)), Ok(Some(_))));
    if !has_ipus || !(preflight == Preflight::Fail || spank.is_first_task()) {
        return Ok(());
    }
    match node_fitness::warning(spank, preflight) {
        Some(line) if preflight == Preflight::Fail => Err(words!("no IPUs: {line}")),
        Some(line) => {
            slurm::log(&format!("warning: {line}"));
            Ok(())
        }
        None => Ok(()),
    }
}

/// The words of a callback's argument list.
///
/// # Safety
/// `argv` is null or has at least `argc` elements, each null or a C string.
unsafe fn words(argc: c_int, argv: *const *const c_char) -> Vec<String> {
    let count = if argv.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
    // SAFETY: the caller promises `argc` elements; none are read of a null list.
    let pointers = (0..count).map(|index| unsafe { *argv.add(index) });
    let present = pointers.filter(|pointer| !pointer.is_null());
    // SAFETY: the caller promises that each element that is not null is a C string.
    present.map(|word| unsafe { CStr::from_ptr(word) }.to_string_lossy().into_owned()).collect()
}
