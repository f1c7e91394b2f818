//! The plugin files of a cluster, and their replacement while daemons run.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::{Cluster, Layout};
use crate::{
    programs::{self, Build},
    settings::Settings,
};
use vipu_types::Delivery;

/// Hosts that may have plugin files of their own: [`Settings::apart`]. All commands are run on slurmctld's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Nodes,
    Backup,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Backup => "backup",
        }
    }
}

/// Installs the plugins on all hosts of a new cluster.
pub(crate) fn install_all(layout: &Layout, settings: &Settings) -> Result<()> {
    install(&layout.plugins(), &settings.build, settings)?;
    settings.apart.iter().try_for_each(|(place, build)| {
        let folder = layout.plugins_of(*place);
        fs::create_dir(&folder)?;
        install(&folder, build, settings)
    })
}

fn install(folder: &Path, build: &Build, settings: &Settings) -> Result<()> {
    let wanted = |name: &&str| settings.gres_plugin || *name != programs::OPTIONAL;
    for name in programs::PLUGINS.into_iter().filter(wanted) {
        let from = match settings.failpoints && name == programs::WITH_FAILPOINTS {
            true => programs::test_plugin()?,
            false => build.file(name)?,
        };
        let to = name.replace("select_vipu", &format!("select_{}", settings.selector));
        put(&from, &folder.join(to))?;
    }
    match settings.delivery {
        Delivery::Node => put(&build.file(programs::HELPER)?, &folder.join(programs::HELPER)),
        Delivery::File | Delivery::Api => Ok(()),
    }
}

/// Replaces a file as packages do. Running processes keep the file that they have.
fn put(from: &Path, to: &Path) -> Result<()> {
    let beside = to.with_extension("new");
    fs::copy(from, &beside).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(fs::rename(beside, to)?)
}

impl Cluster {
    /// Replaces these plugin files by those of another build, on slurmctld's host or on hosts that are apart.
    pub fn install(&self, place: Option<Place>, build: &Build, names: &[&str]) -> Result<()> {
        let layout = self.layout();
        let folder = place.map_or(layout.plugins(), |place| layout.plugins_of(place));
        names.iter().try_for_each(|name| put(&build.file(name)?, &folder.join(name)))
    }
}
