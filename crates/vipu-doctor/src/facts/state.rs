//! StateSaveLocation and the status document.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use vipu_status::Status;

use super::{Slurm, Unseen};
use crate::host::{self, Host};

/// StateSaveLocation.
pub(crate) struct State {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The free bytes of its file system for users other than root.
    pub(crate) free: u64,
    /// Whether its file system takes no further file, although bytes are free.
    pub(crate) lacks_inodes: bool,
    /// Whether its file system is mounted read-only.
    pub(crate) is_read_only: bool,
    /// The journal, if there is one.
    pub(crate) journal: Option<JournalFile>,
    /// Whether slurmctld has put a damaged journal aside.
    pub(crate) has_damaged_journal: bool,
}

/// The journal.
pub(crate) struct JournalFile {
    /// Its damaged lines, in words, or why slurmctld could not use it.
    pub(crate) damage: Result<Vec<String>, String>,
    /// Why what slurmctld writes does not reach the disk.
    pub(crate) not_durable: Option<String>,
}

pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Option<State> {
    let path = slurm.state_save_location();
    let place = host.at(&path);
    if !slurm.is_controller_host {
        return None;
    }
    match statvfs(&place) {
        Ok(disk) => Some(State {
            lacks_inodes: disk.files() > 0 && disk.files_available() == 0,
            is_read_only: disk.flags().contains(FsFlags::ST_RDONLY),
            journal: journal(host, &path.join("vipu_journal"), unseen),
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

fn journal(host: &Host<'_>, path: &Path, unseen: &mut Unseen) -> Option<JournalFile> {
    let place = host.at(path);
    let damage = match host::read(&place) {
        Ok(text) => driver::journal::damage(&text),
        Err(why) if why.kind() == ErrorKind::NotFound => return None,
        Err(why) if why.kind() == ErrorKind::PermissionDenied => {
            unseen.push((path.display().to_string(), why.to_string()));
            return None;
        }
        Err(why) => Err(format!("cannot read it: {why}")),
    };
    // This writes nothing that slurmctld has not written.
    let flushed = File::open(&place).and_then(|file| file.sync_all());
    Some(JournalFile { damage, not_durable: flushed.err().map(|why| why.to_string()) })
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
