//! The status document of the running slurmctld.

use std::io::ErrorKind;
use std::path::Path;

use vipu_status::{Contact, OLD, OtherUse, Pod, State, Status};
use vipu_types::Words;

use crate::controllers::Controller;
use crate::finding::Finding;
use crate::host::{self, Host, Unseen, unless_denied};
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// The difference in seconds that two clocks may have.
const CLOCKS: i64 = 5;

/// The status document: the newer of the one that svipu found and that of this slurmctld, which may have moved to another
/// directory. The error says why there is none.
pub(crate) fn document(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Result<Option<Status>, Words> {
    let own = host.at(&slurm.state_save_location()).join("vipu_status.json");
    let Some(found) = &host.status else { return read(host, &own, unseen) };
    let found = read(host, found, unseen)?;
    // Another user than root does not see it.
    let own = read(host, &own, &mut Unseen::new()).ok().flatten();
    Ok(found.into_iter().chain(own).max_by_key(|status| status.written))
}

fn read(host: &Host<'_>, path: &Path, unseen: &mut Unseen) -> Result<Option<Status>, Words> {
    match unless_denied(&host.shown(path), host::read(path), unseen) {
        None => Ok(None),
        Some(Ok(text)) => Status::parse(&text).map(Some).map_err(Words::of),
        Some(Err(why)) if why.kind() == ErrorKind::NotFound => Ok(None),
        Some(Err(why)) => Err(Words::of(why)),
    }
}

/// Whether slurmctld does not write the document any more.
pub(crate) fn is_old(status: &Status, now: i64) -> bool {
    now - status.written > OLD
}

/// slurmctld writes the document. On its host there is to be one, unless something could not be looked at.
pub(crate) fn age(document: &Result<Option<Status>, Words>, is_expected: bool, now: i64) -> Option<Finding> {
    let status = match document {
        Ok(Some(status)) => status,
        Ok(None) => {
            let what = "there is none, so that slurmctld does not run or has no slurm-vipu";
            let fix = "start slurmctld, and look into its log";
            return is_expected.then(|| Finding::error("vipu_status.json", what, fix));
        }
        Err(why) => {
            let fix = "use the svipu of the slurm-vipu that runs, and look at the disk of StateSaveLocation";
            return Some(Finding::warning("vipu_status.json", why.to_string(), fix));
        }
    };
    if !is_old(status, now) {
        return None;
    }
    let age = now - status.written;
    let what = format!("it is {age} s old, so that slurmctld is down or cannot write");
    Some(Finding::error("vipu_status.json", what, "start slurmctld, and look into its log"))
}

/// Each model is in order.
pub(crate) fn models_are_in_order(status: &Status, models: &[ModelFile]) -> Vec<Finding> {
    if let Some(why) = &status.out_of_order {
        return vec![Finding::error(
            "slurmctld",
            format!("no job with IPUs starts: {why}"),
            "restart slurmctld",
        )];
    }
    let mut findings = Vec::new();
    for model in &status.models {
        let name = format!("model {}", model.name);
        let own = models.iter().find(|own| own.name.as_str() == model.name);
        let is_known = own.is_some_and(|own| own.settings.is_err());
        let has_changed = own.and_then(|own| own.changed).is_some_and(|changed| changed > model.conf.read);
        if let Some(why) = model.conf.error.as_ref().filter(|_| !is_known) {
            if has_changed {
                let what = "its file has changed since slurmctld found an error in it";
                findings.push(Finding::warning(name, what, "run scontrol reconfigure, unless you just did"));
                continue;
            }
            let what = format!("slurmctld read an error in its file: {why}");
            findings.push(Finding::error(name, what, "mend it, then scontrol reconfigure"));
        } else if let Some(why) = model.trouble.as_ref().filter(|_| model.conf.error.is_none()) {
            findings.push(Finding::error(name, format!("no job can start: {why}"), "see docs/recovery.md"));
        }
    }
    findings
}

/// slurmctld reaches each controller that this host has not asked itself.
pub(crate) fn controllers(status: &Status, asked: &[Controller]) -> Vec<Finding> {
    let pods = status.models.iter().flat_map(|model| model.pods.iter().map(move |pod| (&model.name, pod)));
    let is_asked = |pod: &Pod| asked.iter().any(|asked| asked.name == pod.controller);
    let mut findings = Vec::new();
    for (model, pod) in pods.filter(|(_, pod)| !is_asked(pod)) {
        if let Contact::Lost { reason, .. } = &pod.contact {
            let subject = format!("controller {} of {model}", pod.controller);
            let what = format!("slurmctld does not reach it: {reason}");
            findings.push(Finding::error(subject, what, "run svipu doctor on slurmctld's host"));
        }
    }
    findings
}

/// No partition is kept, or has our prefix and no job.
pub(crate) fn partitions(status: &Status, models: &[ModelFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for model in &status.models {
        let settings = settings(models).find(|(own, _)| own.name.as_str() == model.name);
        let prefix = settings.map_or("slurm", |(_, own)| own.partition_prefix.as_str());
        for pod in &model.pods {
            let others = pod.others.iter().filter(|other| other.because == OtherUse::Foreign);
            let ours = others.filter_map(|other| Some((other.partition.as_ref()?, other.places.len())));
            for (id, ipus) in ours.filter(|(id, _)| is_named_as_ours(id, prefix)) {
                let what = format!(
                    "its partition {id} ({ipus} IPUs) is named as ours are, but belongs to no job: another cluster has the same PartitionPrefix, or the partition was forgotten"
                );
                let subject = format!("controller {}", pod.controller);
                let fix = format!(
                    "give each cluster a PartitionPrefix of its own, or: svipu partition free {id} --reason forgotten"
                );
                findings.push(Finding::warning(subject, what, fix));
            }
        }
    }
    let kept: Vec<_> = status.partitions.iter().filter(|partition| partition.state == State::Kept).collect();
    if !kept.is_empty() {
        let ipus: u32 = kept.iter().map(|partition| partition.size).sum();
        let what = format!("{} partitions with {ipus} IPUs are kept for failed jobs", kept.len());
        findings.push(Finding::hint(
            "--ipu-keep",
            what,
            "svipu partitions shows them; MaxKeep= bounds the time",
        ));
    }
    findings
}

/// Whether an id is the prefix, `_`, and something that begins with a digit.
fn is_named_as_ours(id: &str, prefix: &str) -> bool {
    let rest = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The status document is not from the future.
pub(crate) fn clocks(status: &Status, now: i64) -> Option<Finding> {
    let ahead = status.written - now;
    if ahead <= CLOCKS {
        return None;
    }
    let what =
        format!("it was written {ahead} s in the future: the clocks of this host and slurmctld's differ");
    Some(Finding::warning("vipu_status.json", what, "let chrony or ntpd set both clocks"))
}
