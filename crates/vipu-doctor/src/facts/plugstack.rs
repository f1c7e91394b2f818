//! plugstack.conf of this host.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::slurm::short;
use super::{Slurm, Unseen};
use crate::host::Host;

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
    pub(crate) is_required: bool,
    /// Whether it is in plugstack.conf itself, and not in a file that it includes.
    pub(crate) is_direct: bool,
    /// Whether its path has a folder, so that PluginDir does not matter.
    pub(crate) has_folder: bool,
    /// Whether the file of the plugin is where the path says, if it has a folder.
    pub(crate) is_there: bool,
    plugin: slurm_conf::Plugin,
}

impl Plugstack {
    pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Self {
        let given = slurm.value("PlugStackConfig").map(PathBuf::from);
        let path = given.unwrap_or_else(|| slurm.folder().join("plugstack.conf"));
        let stack = match slurm_conf::Plugstack::read(&path, &mut &*host) {
            Ok(stack) => stack,
            Err(why) => {
                if why.kind() != ErrorKind::NotFound {
                    unseen.push((path.display().to_string(), why.to_string()));
                }
                slurm_conf::Plugstack::default()
            }
        };
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
