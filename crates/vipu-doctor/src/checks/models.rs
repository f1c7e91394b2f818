//! The files of models.

use vipu_conf::LoadError;

use crate::facts::{Facts, ModelFile};
use crate::finding::Finding;

/// The file of each model is good, and so is a vipu.conf that none of them reads, because Layer and AdminSocket are
/// read from it. Only a slurmctld host needs one.
pub(super) fn files(facts: &Facts) -> Vec<Finding> {
    let of_model = |model: &ModelFile| match model.settings.as_ref().err()? {
        LoadError::Missing { .. } if !facts.slurm.is_controller_host => None,
        LoadError::Missing { .. } => {
            let what =
                format!("there is neither vipu.conf nor {0}.conf for the model {0} of Gres=", model.name);
            let fix = "write one with ApiHost= and IpuofDir=, or mend the model in Gres=";
            Some(Finding::error("vipu.conf", what, fix))
        }
        why => of_file(&model.file, why),
    };
    let beside = facts.error_beside.iter().filter_map(|why| of_file("vipu.conf", why));
    let mut findings = Vec::new();
    for finding in facts.models.iter().filter_map(of_model).chain(beside) {
        // Several models may have the shared file.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

fn of_file(file: &str, why: &LoadError) -> Option<Finding> {
    Some(match why {
        LoadError::Missing { .. } => return None,
        LoadError::Broken(broken) => {
            let more = broken.problems.len().saturating_sub(1);
            let first = broken.problems.first()?;
            let line = first.spot.as_ref().map(|spot| format!(":{}", spot.line)).unwrap_or_default();
            let more = if more == 0 { String::new() } else { format!(" (and {more} more errors)") };
            let fix = "mend it, then scontrol reconfigure";
            // The file of HostMap has errors of its own.
            let file = broken.path.file_name().map_or(file.into(), |name| name.to_string_lossy());
            Finding::error(format!("{file}{line}"), format!("{}{more}", first.reason), fix)
        }
        LoadError::DanglingLink { target, .. } => {
            let what = format!("it is a link to {}, which does not exist", target.display());
            Finding::error(file, what, "create that file, or remove the link")
        }
        LoadError::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            let what = format!("not examined: {source}");
            Finding::hint(file, what, "run svipu doctor as root or SlurmUser")
        }
        LoadError::Unreadable { path, source } => {
            let what = format!("cannot read {}: {source}", path.display());
            Finding::error(file, what, "let SlurmUser read it")
        }
    })
}

/// Each file of a model has a node with this model. A misspelt model would have the settings of vipu.conf.
pub(super) fn strays(facts: &Facts) -> Vec<Finding> {
    if !facts.slurm.is_controller_host {
        return Vec::new();
    }
    let known: Vec<_> = facts.models.iter().map(|model| model.name.as_str()).collect();
    let finding = |name: &String| {
        let what = "no node has the model of this file, so that it is not read";
        let fix = format!("rename it to a model of Gres= ({}), or mend Gres=", known.join(", "));
        Finding::warning(name, what, fix)
    };
    facts.stray_models.iter().map(finding).collect()
}
