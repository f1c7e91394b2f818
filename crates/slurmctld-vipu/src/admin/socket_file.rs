//! The file of the admin socket.

use std::fmt;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener as BoundListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// The time between two looks whether the file is still there.
const LOOK: Duration = Duration::from_secs(5);

/// The file of a socket that this process serves.
#[derive(Clone, Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Its device and number, which no other file has while the socket is open.
    id: (u64, u64),
}

/// The reason why there is no socket, in words for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoSocket {
    /// Another process serves the path.
    Served,
    /// The file system refuses. With what to do.
    Refused(String),
}

impl fmt::Display for NoSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served => f.write_str("another process serves it: end that, or set another AdminSocket"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl From<io::Error> for NoSocket {
    fn from(why: io::Error) -> Self {
        let (before, path) = match why.kind() {
            ErrorKind::PermissionDenied => ("let SlurmUser write in its directory, or ", "another path"),
            ErrorKind::NotFound => ("make its directory, or ", "another path"),
            ErrorKind::InvalidInput => ("", "a path of at most 90 characters"),
            _ => ("", "another path"),
        };
        Self::Refused(format!(
            "cannot make it: {why}; {before}set AdminSocket= in vipu.conf to {path} and reconfigure"
        ))
    }
}

/// Listens at this path, for the owner of the process only. The socket of a process that is gone is replaced.
///
/// # Errors
/// Another process serves the path, or the file system refuses.
pub(super) async fn listen(path: &Path) -> Result<(UnixListener, SocketFile), NoSocket> {
    let is_of_others = match UnixStream::connect(path).await {
        Err(why) if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&why.kind()) => false,
        Err(why) if why.kind() == ErrorKind::PermissionDenied => true,
        Err(why) if why.kind() != ErrorKind::WouldBlock => return Err(why.into()),
        // It accepts, or it is too busy to accept.
        Ok(_) | Err(_) => return Err(NoSocket::Served),
    };
    let own = path.to_owned();
    let bound = spawn_blocking(move || bind(own, is_of_others)).await.map_err(io::Error::other).flatten();
    let (listener, file) = bound?;
    Ok((UnixListener::from_std(listener)?, file))
}

impl SocketFile {
    /// Waits until the path has another file or none.
    pub(super) async fn is_lost(&self) {
        loop {
            sleep(LOOK).await;
            let file = self.clone();
            if !spawn_blocking(move || file.is_there()).await.unwrap_or(true) {
                return;
            }
        }
    }

    /// Removes the file if it is still that of this process.
    pub(super) async fn remove(self) {
        let removed =
            spawn_blocking(move || if self.is_there() { fs::remove_file(&self.path) } else { Ok(()) });
        // A file that stays refuses connections, and the next slurmctld replaces it.
        let _ = removed.await;
    }

    fn is_there(&self) -> bool {
        failpoints::io!("the admin socket");
        fs::symlink_metadata(&self.path).is_ok_and(|there| id(&there) == self.id)
    }
}

fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Makes the socket under another name, so that nobody finds it before it has its mode, and moves it to its
/// path.
fn bind(path: PathBuf, is_of_others: bool) -> io::Result<(BoundListener, SocketFile)> {
    failpoints::io!("the admin socket");
    let occupied = |by| Err(io::Error::new(ErrorKind::AlreadyExists, by));
    match fs::symlink_metadata(&path) {
        Ok(there) if !there.file_type().is_socket() => return occupied("there is a file that is no socket"),
        Ok(_) if is_of_others => return occupied("the socket of another user is there, remove it"),
        _ => {}
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    // It may be left from a crash of a process with this id.
    let _ = fs::remove_file(&new);
    let listener = BoundListener::bind(&new)?;
    let placed = fs::set_permissions(&new, Permissions::from_mode(0o600)).and_then(|()| {
        let id = id(&fs::symlink_metadata(&new)?);
        fs::rename(&new, &path)?;
        Ok(id)
    });
    let id = placed.inspect_err(|_| drop(fs::remove_file(&new)))?;
    listener.set_nonblocking(true)?;
    Ok((listener, SocketFile { path, id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// The words of the error at this path.
    async fn why_not(path: &Path) -> String {
        listen(path).await.unwrap_err().to_string()
    }

    #[test]
    fn cli_steer_socket_of_a_process_that_is_gone_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        runtime().block_on(async {
            let (listener, first) = listen(&path).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(listen(&path).await.unwrap_err(), NoSocket::Served);
            drop(listener);
            let (_listener, second) = listen(&path).await.unwrap();
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
            assert!(!first.is_there() && second.is_there());
            first.remove().await;
            assert!(second.is_there(), "the file of another process stays");
            second.remove().await;
            assert!(!path.exists());
        });
    }

    #[test]
    fn cli_steer_socket_replaces_no_file_and_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        let fix = "set AdminSocket= in vipu.conf to another path and reconfigure";
        runtime().block_on(async {
            let why = why_not(&file).await;
            assert_eq!(why, format!("cannot make it: there is a file that is no socket; {fix}"));
            let why = why_not(&dir.path().join("absent/socket")).await;
            let absent = "No such file or directory (os error 2)";
            assert_eq!(why, format!("cannot make it: {absent}; make its directory, or {fix}"));
            // The first path has room for no suffix, the second is none of a socket.
            let begin = dir.path().as_os_str().len();
            for length in [107, 108] {
                let why = why_not(&dir.path().join("x".repeat(length - begin - 1))).await;
                assert!(
                    why.ends_with(
                        "; set AdminSocket= in vipu.conf to a path of at most 90 characters and reconfigure"
                    ),
                    "{why}"
                );
            }
        });
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    }
}
