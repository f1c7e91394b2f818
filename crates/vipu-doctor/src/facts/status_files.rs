//! The directory and the group of the status document, if vipu.conf names them.

use std::path::PathBuf;

use super::directories::owner_and_mode;
use super::{ModelFile, Slurm, Unseen};
use crate::host::Host;

/// A directory for users' status documents.
pub(crate) struct StatusDir {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The bare name of the file that names it.
    pub(crate) named_in: String,
    /// Its owner and mode, or why it cannot be used.
    pub(crate) facts: Result<(u32, u32), String>,
}

/// The group that may read the whole document.
pub(crate) struct StatusGroup {
    /// Its name.
    pub(crate) name: String,
    /// The bare name of the file that names it.
    pub(crate) named_in: String,
    /// SlurmUser.
    pub(crate) user: String,
    /// Whether SlurmUser is in it. None if the host knows no such group.
    pub(crate) has_slurm_user: Option<bool>,
}

/// The directories that are no IpuofDir. Only slurmctld needs them.
pub(super) fn directories(
    host: &Host<'_>,
    slurm: &Slurm,
    models: &[ModelFile],
    unseen: &mut Unseen,
) -> Vec<StatusDir> {
    let mut found: Vec<StatusDir> = Vec::new();
    for model in models.iter().filter(|_| slurm.is_controller_host) {
        let Some(path) = model.settings.as_ref().ok().and_then(|own| own.status_dir.clone()) else {
            continue;
        };
        let is_ipuof_dir = |model: &ModelFile| {
            model.settings.as_ref().is_ok_and(|own| own.ipuof_dir.as_ref() == Some(&path))
        };
        if models.iter().any(is_ipuof_dir) || found.iter().any(|known| known.path == path) {
            continue;
        }
        if let Some(facts) = owner_and_mode(host, &path, unseen) {
            found.push(StatusDir { path, named_in: model.file.clone(), facts });
        }
    }
    found
}

/// The group of the first model that has one, as slurmctld takes it.
pub(super) fn group(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Option<StatusGroup> {
    let named = |model: &ModelFile| {
        let name = model.settings.as_ref().ok()?.status_group.clone()?;
        Some((name, model.file.clone()))
    };
    let (name, named_in) = models.iter().find_map(named).filter(|_| slurm.is_controller_host)?;
    let user = slurm.value("SlurmUser").unwrap_or("root").to_owned();
    let has_slurm_user = (host.in_group)(&user, &name);
    Some(StatusGroup { name, named_in, user, has_slurm_user })
}
