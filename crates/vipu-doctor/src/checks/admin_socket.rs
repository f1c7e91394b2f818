//! The admin socket.

use super::directories::can_write;
use crate::facts::Facts;
use crate::finding::Finding;

/// The longest path, as for AdminSocket.
const LONGEST: usize = 90;

/// slurmctld can make the socket.
pub(super) fn place(facts: &Facts) -> Vec<Finding> {
    let Some(socket) = &facts.admin_socket else { return Vec::new() };
    let path = socket.path.display().to_string();
    let why = match &socket.directory {
        _ if path.len() > LONGEST => format!("its path is longer than {LONGEST} characters"),
        Err(why) => format!("its directory cannot be used ({why})"),
        Ok((owner, mode)) => match facts.slurm.user {
            Some(user) if !can_write(user, *owner, *mode) => {
                format!("its directory belongs to user {owner}, and SlurmUser cannot write in it")
            }
            _ => return Vec::new(),
        },
    };
    let what = format!("{why}, so that svipu drain and the like do not work");
    let fix = "set AdminSocket= in vipu.conf to a path in a directory of SlurmUser, or to none";
    vec![Finding::warning(path, what, fix)]
}
