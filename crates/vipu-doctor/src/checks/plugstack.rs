//! The line of the SPANK plugin in plugstack.conf.

use vipu_types::Delivery;

use crate::facts::Facts;
use crate::finding::Finding;

/// The line is there, is required, and reaches nodes without a configuration of their own.
pub(super) fn line(facts: &Facts) -> Vec<Finding> {
    let slurm = &facts.slurm;
    let is_sent = slurm.is_controller_host && slurm.is_configless();
    let path = facts.plugstack.path.display().to_string();
    let Some(line) = &facts.plugstack.line else {
        let place = if slurm.is_sent() { "into plugstack.conf on slurmctld's host " } else { "" };
        let fix = format!("write {place}the line: required spank_ipuof.so ipuof_dir={}", directory(facts));
        return vec![match (slurm.has_ipus, is_sent) {
            (true, _) => {
                Finding::error(path, "it does not load spank_ipuof.so, so that tasks run without IPUs", fix)
            }
            (false, true) => {
                let what =
                    "it does not load spank_ipuof.so, and the nodes without a file of their own get this one";
                Finding::error(path, what, fix)
            }
            (false, false) => {
                Finding::hint(path, "it does not load spank_ipuof.so, so that --ipus is unknown here", fix)
            }
        }];
    };
    if is_sent && !line.is_direct {
        let what =
            "the line is in a file that plugstack.conf includes, and Slurm does not send that file to nodes";
        return vec![Finding::error(&line.place, what, "write the line into plugstack.conf itself")];
    }
    if slurm.has_ipus && !line.is_required {
        let what = "the line is optional, so that tasks may start without their IPUs";
        return vec![Finding::warning(&line.place, what, "write required instead of optional")];
    }
    Vec::new()
}

/// The arguments fit to vipu.conf.
pub(super) fn arguments(facts: &Facts) -> Vec<Finding> {
    let Some(line) = &facts.plugstack.line else { return Vec::new() };
    let mut wanted = facts.settings().filter_map(|(model, own)| {
        (own.delivery == Delivery::File).then_some((model, own.ipuof_dir.as_ref()?))
    });
    let given = facts.plugstack.argument("ipuof_dir");
    let Some((model, directory)) = wanted.find(|(_, directory)| given != directory.to_str()) else {
        return Vec::new();
    };
    let directory = directory.display();
    let what = match given {
        Some(given) => format!("ipuof_dir is {given}, and IpuofDir of {} is {directory}", model.file),
        None => format!("ipuof_dir is not given, and {} has Delivery=file", model.file),
    };
    vec![Finding::error(&line.place, what, format!("write ipuof_dir={directory}"))]
}

/// The file of the plugin is there.
pub(super) fn plugin_is_there(facts: &Facts) -> Vec<Finding> {
    let Some(line) = &facts.plugstack.line else { return Vec::new() };
    let is_there =
        if line.has_folder { line.is_there } else { facts.plugins.file("spank_ipuof.so").is_some() };
    if is_there {
        return Vec::new();
    }
    let what =
        "the file spank_ipuof.so that the line loads is not there, so that srun, sbatch and steps fail";
    vec![Finding::error(&line.place, what, "install it in PluginDir, or remove the line")]
}

/// The directory to write into the line.
fn directory(facts: &Facts) -> String {
    let directory = facts.settings().find_map(|(_, own)| own.ipuof_dir.as_ref());
    directory.map_or_else(|| "<IpuofDir of vipu.conf>".to_owned(), |path| path.display().to_string())
}
