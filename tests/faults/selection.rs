//! The choice of the cases that run.

use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use testbed::programs;

use crate::{Case, fault::Fault, mode::Mode, step::Step};

/// The usual pairs: each step and each fault at least once.
const REDUCED: [(Step, Fault); 22] = [
    (Step::CreateSent, Fault::Stop),
    (Step::FilesWritten, Fault::Stop),
    (Step::Launch, Fault::Stop),
    (Step::Submit, Fault::Reconfigure),
    (Step::Test, Fault::Cancel),
    (Step::Begin, Fault::StateFull),
    (Step::Intent, Fault::Kill),
    (Step::CreateSent, Fault::ReplyLost),
    (Step::CreateSent, Fault::CleanStart),
    (Step::CreateAcknowledged, Fault::Takeover),
    (Step::Active, Fault::IpuofDirFull),
    (Step::Active, Fault::Garbage),
    (Step::FilesWritten, Fault::Requeue),
    (Step::Launch, Fault::KillUnsaved),
    (Step::RemoveSent, Fault::StateLost),
    (Step::Running, Fault::NodeDeath),
    (Step::Running, Fault::Forgetful),
    (Step::Fini, Fault::Refused),
    (Step::RemoveSent, Fault::Hung),
    (Step::RemoveAcknowledged, Fault::SlowRemove),
    (Step::Cleared, Fault::Restarted),
    (Step::CreateAcknowledged, Fault::Panic),
];

/// The usual pairs of [`Mode::Prepared`]: each step that differs in this mode, with faults that can
/// strike there.
const REDUCED_PREPARED: [(Step, Fault); 15] = [
    (Step::FilesWritten, Fault::Stop),
    (Step::Test, Fault::NodeDeath),
    (Step::Begin, Fault::Kill),
    (Step::Begin, Fault::Panic),
    (Step::Intent, Fault::StateFull),
    (Step::Intent, Fault::Reconfigure),
    (Step::CreateSent, Fault::Cancel),
    (Step::CreateSent, Fault::Kill),
    (Step::CreateAcknowledged, Fault::Hung),
    (Step::CreateAcknowledged, Fault::Forgetful),
    (Step::Active, Fault::Takeover),
    (Step::Active, Fault::IpuofDirFull),
    (Step::FilesWritten, Fault::StateLost),
    (Step::FilesWritten, Fault::Panic),
    (Step::Running, Fault::KillUnsaved),
];

/// The usual pairs of [`Mode::Reused`]: each step that differs in this mode, with faults that can strike there.
const REDUCED_REUSED: [(Step, Fault); 13] = [
    (Step::ResetAcknowledged, Fault::Stop),
    (Step::Begin, Fault::Kill),
    (Step::ResetSent, Fault::Kill),
    (Step::ResetSent, Fault::Hung),
    (Step::ResetSent, Fault::ReplyLost),
    (Step::ResetAcknowledged, Fault::Cancel),
    (Step::ResetAcknowledged, Fault::Takeover),
    (Step::Intent, Fault::KillUnsaved),
    (Step::Active, Fault::Forgetful),
    (Step::FilesWritten, Fault::StateLost),
    (Step::Running, Fault::NodeDeath),
    (Step::IdleWithoutFiles, Fault::Kill),
    (Step::IdleWithoutFiles, Fault::Refused),
];

/// The pairs that each release of Slurm has to pass.
const SMOKE: [(Step, Fault); 5] = [
    (Step::FilesWritten, Fault::Stop),
    (Step::Begin, Fault::Kill),
    (Step::CreateSent, Fault::ReplyLost),
    (Step::FilesWritten, Fault::Requeue),
    (Step::Fini, Fault::Refused),
];

/// The pairs that each release of Slurm has to pass with [`Mode::Prepared`].
const SMOKE_PREPARED: [(Step, Fault); 2] =
    [(Step::CreateSent, Fault::Cancel), (Step::FilesWritten, Fault::Kill)];

/// The pairs that each release of Slurm has to pass with [`Mode::Reused`].
const SMOKE_REUSED: [(Step, Fault); 2] =
    [(Step::ResetAcknowledged, Fault::Kill), (Step::IdleWithoutFiles, Fault::Refused)];

/// Whether all cases run.
pub fn is_full() -> bool {
    env::var("VIPU_FAULT_CASES").is_ok_and(|said| said == "full")
}

/// Returns the cases that `VIPU_FAULT_CASES` names.
pub fn from_environment() -> Result<Vec<Case>> {
    let said = env::var("VIPU_FAULT_CASES").unwrap_or_default();
    let pairs: [&[_]; 3] = match said.as_str() {
        "full" => return Ok(Case::all().collect()),
        "smoke" => [&SMOKE, &SMOKE_PREPARED, &SMOKE_REUSED],
        "" => [&REDUCED, &REDUCED_PREPARED, &REDUCED_REUSED],
        other => bail!("VIPU_FAULT_CASES is '{other}': neither full nor smoke"),
    };
    let of_mode = |mode: Mode| Mode::ALL.into_iter().zip(pairs).find(|(other, _)| *other == mode);
    let is_chosen =
        |case: &Case| of_mode(case.mode).is_some_and(|(_, pairs)| pairs.contains(&(case.step, case.fault)));
    let chosen: Vec<_> = Case::all().filter(is_chosen).collect();
    ensure!(chosen.len() == pairs.iter().map(|pairs| pairs.len()).sum::<usize>(), "a chosen pair cannot be");
    Ok(chosen)
}

/// Checks that the shipped plugins have no failpoints, and that the test build has them.
pub fn shipped_has_none() -> Result<()> {
    let has_any = |file: &std::path::Path| {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let variable = b"VIPU_FAILPOINTS";
        anyhow::Ok(bytes.windows(variable.len()).any(|part| part == variable))
    };
    ensure!(has_any(&programs::test_plugin()?)?, "the test build has no failpoints");
    for name in programs::PLUGINS {
        ensure!(!has_any(&programs::own_plugin(name)?)?, "{name} has failpoints");
    }
    Ok(())
}
