//! The file of the admin socket.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener as BoundListener;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_blocking;

/// Listens at this path, for the owner of the process only. The socket of a process that is gone is replaced.
///
/// # Errors
/// In words for people, with what to do. Another process serves the path, or the file system refuses.
pub(super) async fn listen(path: &Path) -> Result<UnixListener, String> {
    match UnixStream::connect(path).await {
        Err(why) if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&why.kind()) => {}
        Err(why) if why.kind() == ErrorKind::PermissionDenied => return Err(cannot(&why)),
        // It accepts, or it is too busy to accept.
        Ok(_) | Err(_) => {
            return Err("another process serves it: end that, or set another AdminSocket".into());
        }
    }
    let path = path.to_owned();
    let bound = spawn_blocking(move || bind(&path)).await.map_err(io::Error::other).flatten();
    bound.and_then(UnixListener::from_std).map_err(|why| cannot(&why))
}

fn cannot(why: &io::Error) -> String {
    format!(
        "cannot make it: {why}; set AdminSocket= in vipu.conf to a path in a directory that SlurmUser can write, and \
         reconfigure"
    )
}

/// Makes the socket under another name, so that nobody finds it before it has its mode, and moves it to its
/// path.
fn bind(path: &Path) -> io::Result<BoundListener> {
    failpoints::io!("the admin socket");
    if fs::symlink_metadata(path).is_ok_and(|there| !there.file_type().is_socket()) {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    // It may be left from a crash of a process with this id.
    let _ = fs::remove_file(&new);
    let listener = BoundListener::bind(&new)?;
    let placed =
        fs::set_permissions(&new, Permissions::from_mode(0o600)).and_then(|()| fs::rename(&new, path));
    placed.inspect_err(|_| drop(fs::remove_file(&new)))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn cli_steer_socket_of_a_process_that_is_gone_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        runtime().block_on(async {
            let first = listen(&path).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let why = listen(&path).await.unwrap_err();
            assert_eq!(why, "another process serves it: end that, or set another AdminSocket");
            drop(first);
            listen(&path).await.unwrap();
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn cli_steer_socket_replaces_no_file_and_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        runtime().block_on(async {
            let why = listen(&file).await.unwrap_err();
            assert!(
                why.starts_with("cannot make it: there is a file that is no socket; set AdminSocket="),
                "{why}"
            );
            let why = listen(&dir.path().join("absent/socket")).await.unwrap_err();
            assert!(why.starts_with("cannot make it: No such file or directory"), "{why}");
        });
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    }
}
