//! The keys of slurm.conf that concern all jobs with IPUs.

use std::collections::BTreeSet;

use slurm_release::Version;
use vipu_conf::{Mode, Settings};

use crate::finding::Finding;
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// Slurm's own value of KillWait, in seconds.
const KILL_WAIT: &str = "30";

/// The seconds by which the default of RemoveWait is longer than that of KillWait.
const SLACK: u64 = 30;

/// Slurm knows the GRES vipu.
pub(crate) fn gres_types(slurm: &Slurm) -> Option<Finding> {
    add_to_list(slurm, "GresTypes", "vipu", "Slurm does not know the GRES vipu")
}

/// slurmctld asks slurm-vipu about each job that is submitted.
pub(crate) fn submit_plugin(slurm: &Slurm) -> Option<Finding> {
    if !slurm.lists("JobSubmitPlugins", "vipu") && !slurm.lists("JobSubmitPlugins", "job_submit/vipu") {
        return add_to_list(
            slurm,
            "JobSubmitPlugins",
            "vipu",
            "--ipus does nothing, and wrong requests are accepted",
        );
    }
    let last = slurm.value("JobSubmitPlugins").and_then(|list| list.rsplit(',').next()).unwrap_or_default();
    if last.trim().trim_start_matches("job_submit/") == "vipu" {
        return None;
    }
    let what =
        format!("{last} comes after vipu in JobSubmitPlugins, so that slurm-vipu does not check its changes");
    Some(Finding::warning(slurm.place("JobSubmitPlugins"), what, "write vipu last"))
}

fn add_to_list(slurm: &Slurm, key: &str, word: &str, outcome: &str) -> Option<Finding> {
    if slurm.lists(key, word) {
        return None;
    }
    let before = slurm.value(key).map(|list| format!("{list},")).unwrap_or_default();
    let what = format!("{key} lacks {word}: {outcome}");
    Some(Finding::error(slurm.place(key), what, format!("write {key}={before}{word}")))
}

/// The limit on locked memory is that of the node, not that of the submit host.
pub(crate) fn locked_memory(slurm: &Slurm) -> Option<Finding> {
    let memory = slurm.conf.locked_memory()?;
    let key = memory.line.map_or(memory.key, |line| &line.pair.key);
    let what = "tasks have the submit host's limit on locked memory, which RDMA needs";
    let instead = if key.eq_ignore_ascii_case(memory.key) { "" } else { " instead" };
    let fix = format!("write {}={}{instead}", memory.key, memory.value);
    Some(Finding::warning(slurm.place(key), what, fix))
}

/// Slurm reads the limits of one key alone.
pub(crate) fn ignored_limits(slurm: &Slurm) -> Option<Finding> {
    let (ignored, read) = ("PropagateResourceLimits", "PropagateResourceLimitsExcept");
    let given = slurm.value(ignored).filter(|_| slurm.value(read).is_some())?;
    let fix = match given {
        "ALL" => "remove the line".to_owned(),
        _ => format!("remove the line, or {read} if this line is meant"),
    };
    let what = format!("Slurm ignores {ignored}={given} beside {read}");
    Some(Finding::warning(slurm.place(ignored), what, fix))
}

/// A job that is ended keeps its IPUs until Slurm kills its processes.
pub(crate) fn time_to_save(slurm: &Slurm, models: &[ModelFile]) -> Vec<Finding> {
    let given = slurm.value("KillWait").unwrap_or(KILL_WAIT);
    let Ok(kill_wait) = given.parse::<u64>() else { return Vec::new() };
    if !slurm.is_controller_host {
        return Vec::new();
    }
    let removes = |own: &Settings| !matches!(own.mode, Mode::Pool | Mode::Shared);
    let waits = settings(models).filter(|(_, own)| removes(own));
    let waits = waits.map(|(model, own)| (model.file.as_str(), own.remove_wait.as_secs()));
    // Several models may have one file. 0 is a choice.
    let short: BTreeSet<_> = waits.filter(|(_, wait)| (1..=kill_wait).contains(wait)).collect();
    let finding = |(file, wait): (&str, u64)| {
        let what = format!(
            "RemoveWait={wait} is not longer than KillWait={kill_wait} of slurm.conf: a job that is ended can lose its IPUs \
             while it still saves its state"
        );
        let fix =
            format!("write RemoveWait={}, and more if Epilog takes time", kill_wait.saturating_add(SLACK));
        Finding::warning(file, what, fix)
    };
    short.into_iter().map(finding).collect()
}

/// Prolog hears slurmctld of a job's IPUs.
pub(crate) fn prolog_variables(slurm: &Slurm, release: Option<Version>) -> Option<Finding> {
    // If the release is not known, a flag has the meaning that it has in the newest.
    let release = release.map_or(u32::MAX, |release| release.0);
    if !slurm.conf.prolog_hears_srun(release) {
        return None;
    }
    let what = "where srun starts a job's first step on a node, Prolog has the SPANK_ variables that srun sends, not those \
                of slurmctld: none of the job's IPUs, or forged ones";
    let others = slurm.value("PrologFlags").map(|flags| format!("{flags},")).unwrap_or_default();
    Some(Finding::warning(slurm.place("Prolog"), what, format!("write PrologFlags={others}Alloc")))
}
