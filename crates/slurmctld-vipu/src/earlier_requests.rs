//! The directory in which users of an earlier version made requests, beside the status document. All users can
//! write in it.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{UnlinkatFlags, unlinkat};
use slurm_host::{boundary, threads};
use tracing::{info, warn};
use vipu_status::file_names;

/// Removes the directory from this StatusDir if there is one. A thread of its own does so: users may have
/// filled the directory, and the file server may hang.
pub(crate) fn remove(status_dir: &Path, cluster: &str) {
    let path = status_dir.join(file_names::requests(cluster));
    let body = move || boundary::guard(&|| "vipu-requests".into(), (), || tell(&path, removed(&path)));
    if let Err(why) = threads::spawn("vipu-requests", body) {
        warn!("{why}: a directory {} of an earlier version stays", file_names::requests(cluster));
    }
}

fn tell(path: &Path, outcome: io::Result<()>) {
    let path = path.display();
    match outcome {
        Ok(()) => info!("{path}: removed; an earlier version took requests of users there"),
        Err(why) if why.kind() == ErrorKind::NotFound => {}
        Err(why) => warn!("{path}: {why}; no version needs it any more: remove it as root, with rm -r"),
    }
}

/// Removes the directory with the files in it. A directory of a user with files in it stays, because it may be
/// of any size and depth.
fn removed(path: &Path) -> io::Result<()> {
    failpoints::io!("the earlier requests of users");
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let dir: OwnedFd = open(path, flags, Mode::empty())?;
    // Users can add nothing from now on.
    fchmod(&dir, Mode::S_IRWXU)?;
    for entry in Dir::openat(&dir, c".", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())? {
        let entry = entry?;
        let is_dir = entry.file_type() == Some(Type::Directory);
        let kind = if is_dir { UnlinkatFlags::RemoveDir } else { UnlinkatFlags::NoRemoveDir };
        let _ = unlinkat(&dir, entry.file_name(), kind);
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn cli_earlier_requests_are_removed_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("vipu_requests.c"), dir.path().join("victim"));
        assert_eq!(removed(&path).unwrap_err().kind(), ErrorKind::NotFound);
        fs::create_dir_all(victim.join("in it")).unwrap();
        symlink(&victim, &path).unwrap();
        assert!(removed(&path).is_err() && path.is_symlink());
        fs::remove_file(&path).unwrap();
        let made = || {
            fs::create_dir_all(path.join("empty")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o1733)).unwrap();
            symlink(&victim, path.join("link")).unwrap();
        };
        made();
        removed(&path).unwrap();
        assert!(!path.exists() && victim.join("in it").exists());
        made();
        fs::create_dir_all(path.join("full/of files")).unwrap();
        assert_eq!(removed(&path).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
        let left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["full"]);
    }
}
