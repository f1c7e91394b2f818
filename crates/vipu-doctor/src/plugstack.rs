//! plugstack.conf of this host, and the line of the SPANK plugin in it.

use std::path::PathBuf;

use vipu_types::Delivery;

use crate::finding::Finding;
use crate::host::{Host, Unseen, if_there, read_text};
use crate::models::{ModelFile, settings};
use crate::plugins::Plugins;
use crate::slurm_conf::{Slurm, short};

/// The file name of the SPANK plugin.
const PLUGIN: &str = "spank_ipuof.so";

/// Parts of the names of plugins that start a task's container, or change its files and credentials. A task has to have
/// the variables of its IPUs before.
const LATER: [&str; 4] = ["pyxis", "auks", "tmp", "chroot"];

/// plugstack.conf.
pub(crate) struct Plugstack {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The file, and those that it includes.
    pub(crate) files: Vec<PathBuf>,
    /// The line that loads the SPANK plugin, if there is one.
    pub(crate) line: Option<SpankLine>,
    /// The first line of each file that a carriage return breaks.
    broken_ends: Vec<(PathBuf, usize)>,
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
    /// The plugins before it that have to come after it.
    too_early: Vec<slurm_conf::Plugin>,
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
            too_early: too_early(&stack.plugins, plugin),
            plugin: plugin.clone(),
        });
        let files: Vec<_> = stack.files.iter().map(|file| file.to_path_buf()).collect();
        let broken_end = |file: &PathBuf| {
            let text = read_text(&host.at(file)).ok()?;
            let is_broken = |line: &str| {
                let content = line.split('#').next().unwrap_or_default();
                content.ends_with('\r') && !content.trim().is_empty()
            };
            Some((file.clone(), text.split('\n').position(is_broken)? + 1))
        };
        let broken_ends = files.iter().filter_map(broken_end).collect();
        Self { path, files, line, broken_ends }
    }

    /// An argument of the line.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.line.as_ref()?.plugin.argument(name)
    }
}

fn too_early(plugins: &[slurm_conf::Plugin], ours: &slurm_conf::Plugin) -> Vec<slurm_conf::Plugin> {
    let before = plugins.iter().take_while(|plugin| plugin.place != ours.place);
    let is_later = |plugin: &&slurm_conf::Plugin| LATER.iter().any(|part| plugin.file_name().contains(part));
    before.filter(is_later).cloned().collect()
}

/// No line ends with a carriage return, which Slurm takes for a part of the last word.
pub(crate) fn ends_of_lines(stack: &Plugstack) -> Vec<Finding> {
    let finding = |(file, line): &(PathBuf, usize)| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let what = "the line ends with a carriage return, which Slurm takes for a part of the last word";
        Finding::error(
            format!("{name}:{line}"),
            what,
            format!("sed -i --follow-symlinks 's/\\r$//' {}", file.display()),
        )
    };
    stack.broken_ends.iter().map(finding).collect()
}

/// The plugins that need the variables of the IPUs come after the line.
pub(crate) fn order(stack: &Plugstack) -> Vec<Finding> {
    let finding = |(line, early): (&SpankLine, &slurm_conf::Plugin)| {
        let what = format!(
            "{} comes before {PLUGIN} ({}), which has to set the variables of the IPUs first",
            early.file_name(),
            line.place
        );
        let above = if early.place.file == line.plugin.place.file {
            "this line".to_owned()
        } else {
            format!("the line that includes {}", early.place.file.display())
        };
        Finding::warning(short(&early.place), what, format!("move the line of {PLUGIN} above {above}"))
    };
    let early = stack.line.iter().flat_map(|line| line.too_early.iter().map(move |early| (line, early)));
    early.map(finding).collect()
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
    // A carriage return has a finding of its own.
    let given = stack.argument("ipuof_dir").map(|given| given.trim_end_matches('\r'));
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
