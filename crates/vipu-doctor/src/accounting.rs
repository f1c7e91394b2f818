//! Accounting: the QOS of the database, and the TRES that Slurm counts.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::finding::Finding;
use crate::host::Host;
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// How long sacctmgr may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A QOS.
pub(crate) struct Qos {
    /// Its name, in lower case.
    pub(crate) name: String,
    /// Whether it has a limit on IPUs and `Flags=DenyOnLimit`.
    denies_ipus: bool,
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
pub(crate) async fn ask(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Option<Vec<Qos>> {
    let counts_ipus = slurm.value("AccountingStorageTRES").is_some_and(|tres| tres.contains("gres/vipu"));
    if !has_slurmdbd(slurm) || !counts_ipus && settings(models).all(|(_, own)| own.max_ipus_in_qos.is_empty())
    {
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

/// At submit, Slurm compares limits on IPUs with their number times that of the nodes.
pub(crate) fn deny_on_limit(qos: Option<&[Qos]>) -> Vec<Finding> {
    let denying = qos.unwrap_or_default().iter().filter(|qos| qos.denies_ipus);
    let finding = |name: &str| {
        let what = format!(
            "QOS {name} has a limit on gres/vipu and Flags=DenyOnLimit: at submit, Slurm counts the IPUs of a job on \
             several nodes once for each node, and refuses jobs that fit"
        );
        let remedy = format!(
            "run sacctmgr modify qos {name} set Flags-=DenyOnLimit: such jobs then run, or wait with the reason"
        );
        Finding::warning("sacctmgr", what, remedy)
    };
    denying.map(|qos| finding(&qos.name)).collect()
}

/// Slurm counts the IPUs of a job.
pub(crate) fn tres(slurm: &Slurm) -> Option<Finding> {
    let key = "AccountingStorageTRES";
    let listed = slurm.value(key).unwrap_or_default().split(',').map(str::trim);
    let has_it = listed.into_iter().any(|tres| tres == "gres/vipu" || tres.starts_with("gres/vipu:"));
    if !has_slurmdbd(slurm) || has_it {
        return None;
    }
    let before = slurm.value(key).map(|list| format!("{list},")).unwrap_or_default();
    let what = format!(
        "{key} lacks gres/vipu, so that Slurm counts no IPUs: not in sacct, limits, billing and reports"
    );
    Some(Finding::hint(slurm.place(key), what, format!("write {key}={before}gres/vipu")))
}

fn has_slurmdbd(slurm: &Slurm) -> bool {
    slurm.value("AccountingStorageType").is_some_and(|kind| kind.ends_with("slurmdbd"))
}
