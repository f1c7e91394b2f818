//! plugstack.conf of this host, and the line of the SPANK plugin in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slurm_conf::{Place, Plugin};
use vipu_types::{Delivery, SpankArguments};

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
    /// Its lines, with those of the files that it includes.
    pub(crate) stack: slurm_conf::Plugstack,
}

impl Plugstack {
    pub(crate) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Self {
        let given = slurm.value("PlugStackConfig").map(PathBuf::from);
        let path = given.unwrap_or_else(|| slurm.folder().join("plugstack.conf"));
        let stack = if_there(&path, slurm_conf::Plugstack::read(&path, &mut &*host), unseen);
        Self { path, stack: stack.unwrap_or_default() }
    }

    /// The line that loads the SPANK plugin, if there is one.
    pub(crate) fn line(&self) -> Option<&Plugin> {
        self.stack.plugin(PLUGIN)
    }

    /// An argument of the line.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.line()?.argument(name)
    }
}

/// No line ends with a carriage return, which Slurm takes for a part of the last word.
pub(crate) fn ends_of_lines(host: &Host<'_>, stack: &Plugstack) -> Vec<Finding> {
    let is_broken = |line: &str| {
        let content = line.split('#').next().unwrap_or_default();
        content.ends_with('\r') && !content.trim().is_empty()
    };
    let first = |file: &Arc<Path>| {
        let text = read_text(&host.at(file)).ok()?;
        let place = Place { file: file.clone(), line: text.split('\n').position(is_broken)? + 1 };
        let what = "the line ends with a carriage return, which Slurm takes for a part of the last word";
        let fix = format!("sed -i --follow-symlinks 's/\\r$//' {}", file.display());
        Some(Finding::error(short(&place), what, fix))
    };
    stack.stack.files.iter().filter_map(first).collect()
}

/// The plugins that need the variables of the IPUs come after the line.
pub(crate) fn order(stack: &Plugstack) -> Vec<Finding> {
    let Some(ours) = stack.line() else { return Vec::new() };
    let before = stack.stack.plugins.iter().take_while(|plugin| plugin.place != ours.place);
    let early = before.filter(|plugin| LATER.iter().any(|part| plugin.file_name().contains(part)));
    let finding = |early: &Plugin| {
        let what = format!(
            "{} comes before {PLUGIN} ({}), which has to set the variables of the IPUs first",
            early.file_name(),
            short(&ours.place)
        );
        let above = if early.place.file == ours.place.file {
            "this line".to_owned()
        } else {
            format!("the line that includes {}", early.place.file.display())
        };
        Finding::warning(short(&early.place), what, format!("move the line of {PLUGIN} above {above}"))
    };
    early.map(finding).collect()
}

/// The line is there, is required, and reaches nodes without a configuration of their own.
pub(crate) fn line(
    slurm: &Slurm,
    stack: &Plugstack,
    plugins: &Plugins,
    models: &[ModelFile],
) -> Option<Finding> {
    let is_sent = slurm.is_controller_host && slurm.is_configless();
    let path = stack.path.display().to_string();
    let Some(line) = stack.line() else {
        let place = if slurm.is_sent() { "into plugstack.conf on slurmctld's host " } else { "" };
        let fix = format!("write {place}the line: required spank_ipuof.so ipuof_dir={}", directory(models));
        return Some(match (slurm.has_ipus, is_sent) {
            (true, _) => {
                let outcome = match ends_tasks(slurm, plugins) {
                    true => "tasks of jobs with IPUs fail",
                    false => "tasks run without IPUs",
                };
                Finding::error(path, format!("it does not load spank_ipuof.so, so that {outcome}"), fix)
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
    if is_sent && *line.place.file != *stack.path {
        let what =
            "the line is in a file that plugstack.conf includes, and Slurm does not send that file to nodes";
        return Some(Finding::error(short(&line.place), what, "write the line into plugstack.conf itself"));
    }
    if slurm.has_ipus && !line.required {
        let what = "the line is optional, so that tasks may start without their IPUs";
        return Some(Finding::warning(short(&line.place), what, "write required instead of optional"));
    }
    None
}

/// Whether gres_vipu.so ends tasks that would run without their IPUs.
fn ends_tasks(slurm: &Slurm, plugins: &Plugins) -> bool {
    slurm.lists("GresTypes", "vipu") && plugins.file("gres_vipu.so").is_some()
}

/// The plugin is loaded once.
pub(crate) fn once(stack: &Plugstack) -> Option<Finding> {
    let lines = stack.stack.plugins.iter().filter(|plugin| plugin.file_name() == PLUGIN);
    let places: Vec<_> = lines.map(|line| short(&line.place)).collect();
    let (last, _) = places.split_last().filter(|(_, others)| !others.is_empty())?;
    let what = format!(
        "{PLUGIN} is loaded {} times ({}), so that each srun prints: option provided by both",
        places.len(),
        places.join(", ")
    );
    Some(Finding::warning(last, what, "keep one of the lines"))
}

/// The plugin knows the arguments, and they fit to vipu.conf.
pub(crate) fn arguments(stack: &Plugstack, models: &[ModelFile]) -> Option<Finding> {
    let line = stack.line()?;
    // A carriage return has a finding of its own.
    let words: Vec<_> = line.arguments.iter().map(|word| word.trim_end_matches('\r')).collect();
    let arguments = SpankArguments::parse(&words);
    if let Some(wrong) = arguments.wrong() {
        let fix = "correct the word: with it, every job with IPUs fails";
        return Some(Finding::error(short(&line.place), wrong.to_string(), fix));
    }
    let given = arguments.directory.ok();
    let mut wanted = settings(models).filter_map(|(model, own)| {
        (own.delivery == Delivery::File).then_some((model, own.ipuof_dir.as_ref()?))
    });
    let (model, directory) = wanted.find(|(_, directory)| given.as_ref() != Some(directory))?;
    let directory = directory.display();
    let what = match given {
        Some(given) => {
            format!("ipuof_dir is {}, and IpuofDir of {} is {directory}", given.display(), model.file)
        }
        None => format!("ipuof_dir is not given, and {} has Delivery=file", model.file),
    };
    Some(Finding::error(short(&line.place), what, format!("write ipuof_dir={directory}")))
}

/// The file of the plugin is there.
pub(crate) fn plugin_is_there(host: &Host<'_>, stack: &Plugstack, plugins: &Plugins) -> Option<Finding> {
    let line = stack.line()?;
    // Without a folder, the path counts from PluginDir.
    let is_there = match line.path.contains('/') {
        true => host.at(line.path.as_ref()).exists(),
        false => plugins.file(PLUGIN).is_some(),
    };
    if is_there {
        return None;
    }
    let what =
        "the file spank_ipuof.so that the line loads is not there, so that srun, sbatch and steps fail";
    Some(Finding::error(short(&line.place), what, "install it in PluginDir, or remove the line"))
}

/// The directory to write into the line.
fn directory(models: &[ModelFile]) -> String {
    let directory = settings(models).find_map(|(_, own)| own.ipuof_dir.as_ref());
    directory.map_or_else(|| "<IpuofDir of vipu.conf>".to_owned(), |path| path.display().to_string())
}
