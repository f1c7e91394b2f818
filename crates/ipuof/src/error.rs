//! Errors of the shared directory, with advice.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use nix::unistd::geteuid;
use vipu_types::PartitionId;

/// The reason why files were not written or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The controller's answer has no GCD.
    #[error("the controller gave no IPUoF configuration for partition {0}")]
    NoGcd(PartitionId),
    /// The file system refused a call.
    #[error("cannot {doing} {}: {source}{}", .path.display(), advice(source))]
    Refused {
        /// The call, as a verb.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// No user but its owner can open a file in the directory.
    #[error("users cannot enter {} (mode {mode:04o}): chmod o+x {}", .path.display(), .path.display())]
    Closed {
        /// The directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// Advice for administrators about an error of the file system.
fn advice(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => " (it has to exist on this host)".to_owned(),
        ErrorKind::NotADirectory => " (it has to be a directory)".to_owned(),
        ErrorKind::PermissionDenied => {
            format!(" (user {} has to be able to write there)", geteuid())
        }
        ErrorKind::ReadOnlyFilesystem => " (mount it writable on this host)".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => " (make room there)".to_owned(),
        ErrorKind::IsADirectory => " (a directory is in the way: remove it)".to_owned(),
        _ => String::new(),
    }
}
