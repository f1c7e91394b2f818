//! The place of the admin socket.

use std::path::{Path, PathBuf};

use vipu_admin::SOCKET;
use vipu_conf::AdminSocket;

use super::directories::owner_and_mode;
use super::{Slurm, Unseen};
use crate::host::Host;

/// The pid file of slurmctld, if slurm.conf names none.
const PID_FILE: &str = "/var/run/slurmctld.pid";

/// The place of the socket.
pub(crate) struct Socket {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The owner and the mode of its directory, or why it cannot be used.
    pub(crate) directory: Result<(u32, u32), String>,
}

/// The place, on a slurmctld host, unless there is to be no socket.
pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Option<Socket> {
    if !slurm.is_controller_host {
        return None;
    }
    let path = match vipu_conf::admin_socket_of(&host.at(slurm.folder())) {
        Some(AdminSocket::At(path)) => path,
        Some(AdminSocket::None) => return None,
        None => Path::new(slurm.value("SlurmctldPidFile").unwrap_or(PID_FILE)).with_file_name(SOCKET),
    };
    let directory = owner_and_mode(host, path.parent()?, unseen)?;
    Some(Socket { path, directory })
}
