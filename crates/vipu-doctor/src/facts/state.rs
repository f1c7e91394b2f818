//! StateSaveLocation and the status document.

use std::io::ErrorKind;
use std::path::PathBuf;

use nix::sys::statvfs::statvfs;
use vipu_status::Status;

use super::{Slurm, Unseen};
use crate::host::{self, Host};

/// StateSaveLocation.
pub(crate) struct State {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The free bytes of its file system for users other than root.
    pub(crate) free: u64,
    /// Whether slurmctld has put a damaged journal aside.
    pub(crate) has_damaged_journal: bool,
}

pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Option<State> {
    let path = slurm.state_save_location();
    let place = host.at(&path);
    if !slurm.is_controller_host {
        return None;
    }
    match statvfs(&place) {
        Ok(disk) => Some(State {
            free: disk.blocks_available().saturating_mul(disk.fragment_size()),
            has_damaged_journal: place.join("vipu_journal.bad").exists(),
            path,
        }),
        Err(why) => {
            unseen.push((path.display().to_string(), std::io::Error::from(why).to_string()));
            None
        }
    }
}

/// The status document: the one that svipu found, or that of this slurmctld. The error says why it is none.
pub(super) fn document(
    host: &Host<'_>,
    slurm: &Slurm,
    unseen: &mut Unseen,
) -> Result<Option<Status>, String> {
    let own = || host.at(&slurm.state_save_location()).join("vipu_status.json");
    let path = host.status.clone().unwrap_or_else(own);
    match host::read(&path) {
        Ok(text) => Status::parse(&text).map(Some).map_err(|why| why.to_string()),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) if why.kind() == ErrorKind::PermissionDenied => {
            unseen.push((host.shown(&path).display().to_string(), why.to_string()));
            Ok(None)
        }
        Err(why) => Err(why.to_string()),
    }
}
