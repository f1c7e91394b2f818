//! The callbacks for the step's own directory: slurmstepd makes and removes it as root, slurmd sweeps at its
//! start.

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vipu_types::{Delivery, Grant, Words, words};

use super::slurm::{self, SUCCESS, answer};
use super::spank::Spank;
use crate::environment_change::grant;
use crate::fetch_program::{Order, Trouble};
use crate::step::{StepDir, sweep};
use crate::task::Task;
use vipu_types::SpankArguments;

/// The directory of this slurmstepd's step, or the reason why it has none. Tasks are forked after it is made,
/// and read it here.
static STEP: Mutex<Option<Result<StepDir, Words>>> = Mutex::new(None);

fn step() -> MutexGuard<'static, Option<Result<StepDir, Words>>> {
    STEP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The directory of the step's files, for [`Task::fetched`].
pub(super) fn fetched() -> Result<PathBuf, Words> {
    match &*step() {
        Some(Ok(directory)) => Ok(directory.path().to_owned()),
        Some(Err(why)) => Err(why.clone()),
        None => {
            Err("nothing was fetched as its step started; the administrator finds more in slurmd's log"
                .into())
        }
    }
}

/// Removes the directories of killed steps when slurmd starts.
pub(super) fn slurmd_starts(arguments: &SpankArguments) -> Result<(), Words> {
    let run_dir = &arguments.run_dir;
    sweep(run_dir).map_err(|error| words!("what killed steps left in {} stays: {error}", run_dir.display()))
}

/// Fetches the step's files if its job has `Delivery=node`. A failure is kept for the tasks, which report it
/// to their user: Slurm would blame the node for a step that fails before its tasks.
pub(super) fn begins(spank: &Spank, arguments: &SpankArguments) -> Result<(), Words> {
    let Some(outcome) = fetch(spank, arguments) else { return Ok(()) };
    let told = match &outcome {
        Err(Trouble { line, detail }) if !detail.is_empty() => Err(words!("{line} ({detail})")),
        _ => Ok(()),
    };
    *step() = Some(outcome.map_err(|trouble| trouble.line));
    told
}

/// The directory with the fetched files. None with another delivery.
fn fetch(spank: &Spank, arguments: &SpankArguments) -> Option<Result<StepDir, Trouble>> {
    let job = spank.job().ok()?;
    // The tasks report a grant of an unknown form.
    let grant = grant(job, |name| spank.get(name)).ok()?.filter(|grant| grant.delivery == Delivery::Node)?;
    Some(fetch_for(spank, arguments, job, &grant))
}

fn fetch_for(spank: &Spank, arguments: &SpankArguments, job: u32, grant: &Grant) -> Result<StepDir, Trouble> {
    let folder = |file: Option<PathBuf>| Some(file?.parent()?.to_owned());
    let unknown = |file: &str| Trouble::new(words!("the folder of {file} is not known"));
    let beside = folder(slurm::own_file()).ok_or_else(|| unknown("spank_ipuof.so"))?;
    let conf_dir = arguments.conf_dir.clone().or_else(|| folder(slurm::slurm_conf()));
    let conf_dir = conf_dir.ok_or_else(|| unknown("slurm.conf"))?;
    let user = spank.user().map_err(|refused| Trouble::new(Words::of(refused)))?;
    let (beside, conf_dir, run_dir) = (&beside, &conf_dir, &arguments.run_dir);
    Order { beside, conf_dir, run_dir, job, user, grant }.carry_out()
}

/// Removes the step's files when its slurmstepd ends.
///
/// # Safety
/// Slurm calls it with its handle and `argc` words, all of them valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_exit(
    spank: *mut c_void,
    _argc: c_int,
    _argv: *const *const c_char,
) -> c_int {
    // SAFETY: Slurm's own handle.
    let spank = unsafe { Spank::new(spank) };
    answer(spank, |_| match step().take() {
        Some(Ok(directory)) => directory.remove().map_err(|error| words!("the step's files stay: {error}")),
        _ => Ok(()),
    });
    SUCCESS
}
