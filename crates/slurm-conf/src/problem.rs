//! What is wrong in a file, and where.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{DEEPEST, MOST_FILES};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The number of the line, from 1. A line that goes on has that of its first line.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A line of which Slurm does not take everything.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Problem {
    /// The line.
    pub place: Place,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line. The texts are of the file, with all their characters.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Text that is no `Key=Value`.
    #[error("'{0}' is no Key=Value")]
    NoPair(String),
    /// Text behind the value of a key that stands alone in its line.
    #[error("'{rest}' follows the value of {key}: begin a new line")]
    Rest {
        /// The key.
        key: String,
        /// The text behind its value.
        rest: String,
    },
    /// A line of plugstack.conf that Slurm passes over.
    #[error("'{0}' is neither required, optional nor include with a path")]
    NoPlugin(String),
    /// An `Include` without a file.
    #[error("Include has no file")]
    NoFile,
    /// An `Include` with a pattern.
    #[error("Include takes one file, not the pattern {0}")]
    Pattern(String),
    /// An `Include` with `%c` above `ClusterName`.
    #[error("{0}: ClusterName must be above an Include with %c")]
    NoClusterName(String),
    /// A file that cannot be read.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the system.
        why: io::Error,
    },
    /// A file that includes itself, or very many files.
    #[error("more than {MOST_FILES} files, or more than {DEEPEST} that include each other")]
    TooManyFiles,
}
