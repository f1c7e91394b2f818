//! What can go wrong in the shared directory, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use nix::unistd::geteuid;
use vipu_types::PartitionId;

/// Why files were not written or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The controller's answer had no GCD in it: there is nothing to write.
    #[error("the controller gave no IPUoF configuration for partition {0}")]
    NoGcd(PartitionId),
    /// The file system refused.
    #[error("cannot {doing} {}: {source}{}", .path.display(), advice(source))]
    Refused {
        /// What was tried: a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// What an administrator can do about an error of the file system.
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
