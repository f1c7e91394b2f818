//! The models that nodes have, and their files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use vipu_conf::{LoadError, Settings};
use vipu_types::{GresType, ModelName};

use super::{Plugstack, Slurm};
use crate::host::{Host, read_text};

/// A model with its file.
pub(crate) struct ModelFile {
    /// The name of the model.
    pub(crate) name: ModelName,
    /// The bare name of the file with its settings.
    pub(crate) file: String,
    /// Its settings, or the reason why it has none.
    pub(crate) settings: Result<Settings, LoadError>,
}

/// Reads the files of all models that nodes have. Also returns what is wrong in a vipu.conf that none of them reads.
pub(super) fn read(
    host: &Host<'_>,
    slurm: &Slurm,
    plugstack: &Plugstack,
) -> (Vec<ModelFile>, Option<LoadError>) {
    let folder = match plugstack.argument("conf_dir") {
        Some(folder) if !slurm.is_controller_host => PathBuf::from(folder),
        _ => slurm.folder().to_owned(),
    };
    let offers = slurm.nodes.iter().flat_map(|node| &node.offers);
    let types: BTreeSet<_> = offers.filter_map(|offer| GresType::new(offer.model.as_deref()?).ok()).collect();
    let names: Vec<_> = types.iter().map(GresType::model).collect();
    let folder = host.at(&folder);
    let model = |name: ModelName, settings| {
        let own = format!("{name}.conf");
        let has_own = folder.join(&own).symlink_metadata().is_ok();
        let file = if has_own { own } else { "vipu.conf".to_owned() };
        ModelFile { name, file, settings }
    };
    if !slurm.is_controller_host {
        // A node needs no file of HostMap.
        let settings = |name: &ModelName| vipu_conf::settings_on_node(&folder, name);
        return (names.into_iter().map(|name| model(name.clone(), settings(&name))).collect(), None);
    }
    let mut loaded = vipu_conf::load(&folder, &names);
    if types.iter().any(|of| matches!(of, GresType::Size(_))) {
        vipu_conf::need_pool(&mut loaded);
    }
    let beside = vipu_conf::error_beside(&folder, &loaded);
    (loaded.into_iter().map(|(name, file)| model(name, file.map(|good| good.settings))).collect(), beside)
}

/// The bare names of files beside slurm.conf that look like the file of a model that no node has.
pub(super) fn strays(host: &Host, slurm: &Slurm, models: &[ModelFile]) -> Vec<String> {
    let entries = std::fs::read_dir(host.at(slurm.folder())).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_stray = |name: &String| {
        let Some(model) = name.strip_suffix(".conf").and_then(|stem| ModelName::new(stem).ok()) else {
            return false;
        };
        let is_known = model.as_str() == "vipu" || models.iter().any(|known| known.name == model);
        !is_known && read_text(&host.at(&slurm.folder().join(name))).is_ok_and(|text| gives_controller(&text))
    };
    let mut strays: Vec<_> = names.filter(is_stray).collect();
    strays.sort();
    strays
}

/// Whether a text has a line with the key that each file of a model needs.
fn gives_controller(text: &str) -> bool {
    text.lines().any(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        key.eq_ignore_ascii_case("ApiHost")
    })
}
