//! Reads the status document from a file, or from an exporter on another host, and the audit log beside it.
//!
//! The size of what is read is bounded, and so is the time of a read over the network. Each error is one
//! line in words.
#![forbid(unsafe_code)]

mod audit_log;
mod file;
mod remote;

use std::fmt;
use std::path::PathBuf;

pub use audit_log::NoAuditLog;
use vipu_status::{OwnJobs, Status, file_names};

/// The greatest size of a document. The document of 10,000 partitions is a tenth of it.
const MOST_BYTES: usize = 64 << 20;

/// The age of a document in seconds from which slurmctld may be down. slurmctld writes every 10 s.
pub const OLD: i64 = 30;

/// The place of a status document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The address of an exporter, for example `http://slurm.example.org:9877/`.
    Exporter(String),
}

impl Source {
    /// Reads the document.
    ///
    /// # Errors
    /// The reason why there is no document, without the name of the source.
    pub fn read(&self) -> Result<Status, String> {
        let text = match self {
            Self::File(path) => file::read(path),
            Self::Exporter(address) => remote::read(address),
        }?;
        Status::parse(&text).map_err(|why| why.to_string())
    }

    /// Reads the document as [`Source::read`] does. If it is a file that hides owners, the jobs of this user are
    /// filled in from the file beside it.
    ///
    /// # Errors
    /// The reason why there is no document, without the name of the source.
    pub fn read_as(&self, user: u32) -> Result<Status, String> {
        let mut status = self.read()?;
        if let Some(own) = self.own_jobs(&status.writer.cluster, user) {
            status.fill_in(own);
        }
        Ok(status)
    }

    /// The jobs of a user, if there is a file with them. A file that is being replaced is read the next time.
    fn own_jobs(&self, cluster: &str, user: u32) -> Option<OwnJobs> {
        let Self::File(document) = self else { return None };
        let file = document.with_file_name(file_names::own_jobs(cluster, user));
        serde_json::from_slice(&file::read(&file).ok()?).ok()
    }

    /// Whether the words of a user name an exporter instead of a file.
    fn is_address(words: &str) -> bool {
        words.starts_with("http://") || words.starts_with("https://")
    }
}

impl From<PathBuf> for Source {
    /// The source that the words of a user name.
    fn from(words: PathBuf) -> Self {
        match words.to_str().filter(|words| Self::is_address(words)) {
            Some(address) => Self::Exporter(address.to_owned()),
            None => Self::File(words),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(to),
            Self::Exporter(address) => to.write_str(address),
        }
    }
}

/// The error about a document that is too large.
fn too_large() -> String {
    "it is larger than 64 MiB, so that it is no status document".to_owned()
}
