//! The status document of the running slurmctld.

use vipu_status::{Contact, OtherUse, Pod, State};

use crate::facts::Facts;
use crate::finding::Finding;

/// The age in seconds from which slurmctld may be down. It writes every 10 s at least.
const OLD: i64 = 30;

/// slurmctld writes the document.
pub(super) fn age(facts: &Facts) -> Vec<Finding> {
    if let Some(why) = &facts.status_fault {
        let fix = "use the svipu of the slurm-vipu that runs, and look at the disk of StateSaveLocation";
        return vec![Finding::warning("vipu_status.json", why, fix)];
    }
    let Some(status) = &facts.status else {
        let what = "there is none, so that slurmctld does not run or has no slurm-vipu";
        let fix = "start slurmctld, and look into its log";
        let is_missed = facts.slurm.is_controller_host && facts.unseen.is_empty();
        return is_missed.then(|| Finding::error("vipu_status.json", what, fix)).into_iter().collect();
    };
    let age = facts.now - status.written;
    if age <= OLD {
        return Vec::new();
    }
    let what = format!("it is {age} s old, so that slurmctld is down or cannot write");
    vec![Finding::error("vipu_status.json", what, "start slurmctld, and look into its log")]
}

/// Each model is in order.
pub(super) fn models(facts: &Facts) -> Vec<Finding> {
    let Some(status) = &facts.status else { return Vec::new() };
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
        let is_known =
            facts.models.iter().any(|own| own.name.as_str() == model.name && own.settings.is_err());
        if let Some(why) = model.conf.error.as_ref().filter(|_| !is_known) {
            let what = format!("slurmctld read an error in its file: {why}");
            findings.push(Finding::error(name, what, "mend it, then scontrol reconfigure"));
        } else if let Some(why) = model.trouble.as_ref().filter(|_| model.conf.error.is_none()) {
            findings.push(Finding::error(name, format!("no job can start: {why}"), "see docs/recovery.md"));
        }
    }
    findings
}

/// slurmctld reaches each controller that this host has not asked itself.
pub(super) fn controllers(facts: &Facts) -> Vec<Finding> {
    let models = facts.status.iter().flat_map(|status| &status.models);
    let pods = models.flat_map(|model| model.pods.iter().map(move |pod| (&model.name, pod)));
    let is_asked = |pod: &Pod| facts.controllers.iter().any(|asked| asked.name == pod.controller);
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
pub(super) fn partitions(facts: &Facts) -> Vec<Finding> {
    let Some(status) = &facts.status else { return Vec::new() };
    let mut findings = Vec::new();
    for model in &status.models {
        let settings = facts.settings().find(|(own, _)| own.name.as_str() == model.name);
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
