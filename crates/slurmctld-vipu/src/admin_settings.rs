//! The settings of the admin socket.

use std::path::{Path, PathBuf};

use vipu_admin::SOCKET;
use vipu_conf::AdminSocket;

/// The socket and its user, from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdminSettings {
    /// None if there is to be no socket.
    pub(crate) path: Option<PathBuf>,
    /// SlurmUser, who may use it besides root.
    pub(crate) slurm_user: u32,
}

impl AdminSettings {
    /// Reads the settings. `folder` is that of vipu.conf. Only in a callback that runs under the configuration
    /// lock.
    pub(crate) fn read(folder: &Path) -> Self {
        let beside_pid_file = || Some(slurm_host::conf::slurmctld_pid_file()?.parent()?.join(SOCKET));
        let path = match vipu_conf::admin_socket_of(folder) {
            Some(AdminSocket::At(path)) => Some(path),
            Some(AdminSocket::None) => None,
            None => beside_pid_file(),
        };
        Self { path, slurm_user: slurm_host::conf::slurm_user().unwrap_or_default() }
    }
}
