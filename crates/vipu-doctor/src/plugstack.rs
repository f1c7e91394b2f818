//! plugstack.conf of this host, and the line of the SPANK plugin in it.

use std::path::PathBuf;

use vipu_types::Delivery;

use crate::finding::Finding;
use crate::host::{Host, Unseen, if_there};
use crate::models::{ModelFile, settings};
use crate::plugins::Plugins;
use crate::slurm_conf::{Slurm, short};

/// The file name of the SPANK plugin.
const PLUGIN: &str = "spank_ipuof.so";

/// plugstack.conf.
pub(crate) struct Plugstack {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The line that loads the SPANK plugin, if there is one.
    pub(crate) line: Option<SpankLine>,
}

/// The line that loads the SPANK plugin.
pub(crate) struct SpankLine {
    /// The line as a finding names it.
    pub(crate) place: String,
    /// Whether it begins with `required`.
    is_required: bool,
    /// Whether it is in plugstack.conf itself, and not in a file that it includes.
    is_direct: bool,
    /// Whether its path has a folder, so that PluginDir does not matter.
    has_folder: bool,
    /// Whether the file of the plugin is where the path says, if it has a folder.
    is_there: bool,
    plugin: slurm_conf::Plugin,
}

impl Plugstack {
    pub(crate) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Self {
        let given = slurm.value("PlugStackConfig").map(PathBuf::from);
        let path = given.unwrap_or_else(|| slurm.folder().join("plugstack.conf"));
        let stack =
            if_there(&path, slurm_conf::Plugstack::read(&path, &mut &*host), unseen).unwrap_or_default();
        let line = stack.plugin(PLUGIN).map(|plugin| SpankLine {
            place: short(&plugin.place),
            is_required: plugin.required,
            is_direct: *plugin.place.file == *path,
            has_folder: plugin.path.contains('/'),
            is_there: host.at(plugin.path.as_ref()).exists(),
            plugin: plugin.clone(),
        });
        Self { path, line }
    }

    /// An argument of the line.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.line.as_ref()?.plugin.argument(name)
    }
}

/// The line is there, is required, and reaches nodes without a configuration of their own.
pub(crate) fn line(slurm: &Slurm, stack: &Plugstack, models: &[ModelFile]) -> Option<Finding> {
    let is_sent = slurm.is_controller_host && slurm.is_configless();
    let path = stack.path.display().to_string();
    let Some(line) = &stack.line else {
        let place = if slurm.is_sent() { "into plugstack.conf on slurmctld's host " } else { "" };
        let fix = format!("write {place}the line: required spank_ipuof.so ipuof_dir={}", directory(models));
        return Some(match (slurm.has_ipus, is_sent) {
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
        });
    };
    if is_sent && !line.is_direct {
        let what =
            "the line is in a file that plugstack.conf includes, and Slurm does not send that file to nodes";
        return Some(Finding::error(&line.place, what, "write the line into plugstack.conf itself"));
    }
    if slurm.has_ipus && !line.is_required {
        let what = "the line is optional, so that tasks may start without their IPUs";
        return Some(Finding::warning(&line.place, what, "write required instead of optional"));
    }
    None
}

/// The arguments fit to vipu.conf.
pub(crate) fn arguments(stack: &Plugstack, models: &[ModelFile]) -> Option<Finding> {
    let line = stack.line.as_ref()?;
    let mut wanted = settings(models).filter_map(|(model, own)| {
        (own.delivery == Delivery::File).then_some((model, own.ipuof_dir.as_ref()?))
    });
    let given = stack.argument("ipuof_dir");
    let (model, directory) = wanted.find(|(_, directory)| given != directory.to_str())?;
    let directory = directory.display();
    let what = match given {
        Some(given) => format!("ipuof_dir is {given}, and IpuofDir of {} is {directory}", model.file),
        None => format!("ipuof_dir is not given, and {} has Delivery=file", model.file),
    };
    Some(Finding::error(&line.place, what, format!("write ipuof_dir={directory}")))
}

/// The file of the plugin is there.
pub(crate) fn plugin_is_there(stack: &Plugstack, plugins: &Plugins) -> Option<Finding> {
    let line = stack.line.as_ref()?;
    let is_there = if line.has_folder { line.is_there } else { plugins.file("spank_ipuof.so").is_some() };
    if is_there {
        return None;
    }
    let what =
        "the file spank_ipuof.so that the line loads is not there, so that srun, sbatch and steps fail";
    Some(Finding::error(&line.place, what, "install it in PluginDir, or remove the line"))
}

/// The directory to write into the line.
fn directory(models: &[ModelFile]) -> String {
    let directory = settings(models).find_map(|(_, own)| own.ipuof_dir.as_ref());
    directory.map_or_else(|| "<IpuofDir of vipu.conf>".to_owned(), |path| path.display().to_string())
}
