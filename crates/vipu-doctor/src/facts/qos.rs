//! The QOS, from sacctmgr. It asks slurmdbd and not slurmctld.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{ModelFile, Slurm};
use crate::host::Host;

/// How long sacctmgr may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A QOS.
pub(crate) struct Qos {
    /// Its name, in lower case.
    pub(crate) name: String,
    /// Whether it has a limit on IPUs and `Flags=DenyOnLimit`.
    pub(crate) denies_ipus: bool,
}

impl Qos {
    fn parse(line: &str) -> Self {
        let mut fields = line.trim().split('|');
        let name = fields.next().unwrap_or_default().to_ascii_lowercase();
        let denies = fields.next().is_some_and(|flags| flags.contains("DenyOnLimit"));
        Self { name, denies_ipus: denies && fields.any(|limits| limits.contains("gres/vipu")) }
    }
}

/// Asks for all QOS, if a limit of vipu.conf names one, or if Slurm counts IPUs. None if nobody answers.
pub(super) async fn ask(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Option<Vec<Qos>> {
    let mut settings = models.iter().filter_map(|model| model.settings.as_ref().ok());
    let has_slurmdbd = slurm.value("AccountingStorageType").is_some_and(|kind| kind.ends_with("slurmdbd"));
    let counts_ipus = slurm.value("AccountingStorageTRES").is_some_and(|tres| tres.contains("gres/vipu"));
    if !has_slurmdbd || !counts_ipus && settings.all(|own| own.max_ipus_in_qos.is_empty()) {
        return None;
    }
    let mut command = Command::new(host.sacctmgr.as_os_str());
    command.args([
        "--noheader",
        "--parsable2",
        "show",
        "qos",
        "format=name,flags,maxtres,maxtrespu,maxtrespa,grptres",
    ]);
    command.env("SLURM_CONF", host.at(&slurm.path));
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().map(Qos::parse).collect())
}
