//! The admin socket.

use vipu_conf::AdminSocket;

use crate::finding::Finding;
use crate::host::{Host, Unseen, can_write};
use crate::slurm_conf::Slurm;

/// The longest path, as for AdminSocket.
const LONGEST: usize = 90;

/// slurmctld can make the socket, unless there is to be none.
pub(crate) fn place(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Option<Finding> {
    if !slurm.is_controller_host {
        return None;
    }
    let socket = match vipu_conf::admin_socket_of(&host.at(slurm.folder())) {
        Some(AdminSocket::At(path)) => path,
        Some(AdminSocket::None) => return None,
        None => vipu_admin::socket_beside(slurm.value("SlurmctldPidFile")),
    };
    let directory = host.directory(socket.parent()?, unseen)?;
    let path = socket.display().to_string();
    let why = match directory {
        _ if path.len() > LONGEST => format!("its path is longer than {LONGEST} characters"),
        Err(why) => format!("its directory cannot be used ({why})"),
        Ok((owner, mode)) => match slurm.user {
            Some(user) if !can_write(user, owner, mode) => {
                format!("its directory belongs to user {owner}, and SlurmUser cannot write in it")
            }
            _ => return None,
        },
    };
    let what = format!("{why}, so that svipu drain and the like do not work");
    let fix = "set AdminSocket= in vipu.conf to a path in a directory of SlurmUser, or to none";
    Some(Finding::warning(path, what, fix))
}
