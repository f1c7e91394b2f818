//! The value of `HostMap`.

use std::path::PathBuf;

use vipu_types::HostMap;

/// The file with the IPUs of each host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// Its path. A relative one begins at the directory of the model's file.
    pub path: PathBuf,
    /// Its content. Empty until the file is read.
    pub map: HostMap,
}
