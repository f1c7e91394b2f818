//! Which of the pairs run.

use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use testbed::programs;

use crate::{fault::Fault, step::Step};

/// Each step once and each fault once at least.
pub const REDUCED: [(Step, Fault); 19] = [
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

/// What each release of Slurm has to pass.
const SMOKE: [(Step, Fault); 4] = [
    (Step::Begin, Fault::Kill),
    (Step::CreateSent, Fault::ReplyLost),
    (Step::FilesWritten, Fault::Requeue),
    (Step::Fini, Fault::Refused),
];

/// A choice of pairs.
pub enum Selection {
    Full,
    These(&'static [(Step, Fault)]),
}

impl Selection {
    pub fn has(&self, step: Step, fault: Fault) -> bool {
        match self {
            Self::Full => true,
            Self::These(pairs) => pairs.contains(&(step, fault)),
        }
    }
}

/// As `VIPU_FAULT_CELLS` says.
pub fn from_environment() -> Result<Selection> {
    let said = env::var("VIPU_FAULT_CELLS").unwrap_or_default();
    Ok(match said.as_str() {
        "full" => Selection::Full,
        "smoke" => Selection::These(&SMOKE),
        "" => Selection::These(&REDUCED),
        other => bail!("VIPU_FAULT_CELLS is '{other}': neither full nor smoke"),
    })
}

/// Whether partitions are made while their jobs wait: `VIPU_FAULT_PREPARE` is set.
pub fn prepares() -> bool {
    env::var_os("VIPU_FAULT_PREPARE").is_some()
}

/// Where the job is then.
pub fn state_while_making() -> &'static str {
    if prepares() { "PENDING" } else { "CONFIGURING" }
}

/// What is shipped cannot be stopped; what these tests run can.
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
