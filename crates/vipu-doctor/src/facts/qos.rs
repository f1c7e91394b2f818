//! The names of the QOS, from sacctmgr. It asks slurmdbd and not slurmctld.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{ModelFile, Slurm};
use crate::host::Host;

/// How long sacctmgr may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks for the names of all QOS, if a limit names one. None if nobody answers.
pub(super) async fn ask(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Option<Vec<String>> {
    let mut settings = models.iter().filter_map(|model| model.settings.as_ref().ok());
    let has_slurmdbd = slurm.value("AccountingStorageType").is_some_and(|kind| kind.ends_with("slurmdbd"));
    if !has_slurmdbd || settings.all(|own| own.max_ipus_in_qos.is_empty()) {
        return None;
    }
    let mut command = Command::new(host.sacctmgr.as_os_str());
    command.args(["--noheader", "--parsable2", "show", "qos", "format=name"]);
    command.env("SLURM_CONF", host.at(&slurm.path));
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
    output.status.success().then(|| text.lines().map(|name| name.trim().to_owned()).collect())
}
