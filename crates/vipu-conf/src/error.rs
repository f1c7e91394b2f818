//! The errors of a file, told in one line for logs and with line and caret for people.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use vipu_types::{Words, words};

use crate::problem::Problem;

/// The reason why a model has no settings.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No file is there.
    #[error("neither {} nor {} exists: create one with at least ApiHost and IpuofDir", .own.display(), .shared.display())]
    Missing {
        /// The model's own file.
        own: PathBuf,
        /// The file of all models.
        shared: PathBuf,
    },
    /// The model's file is a link to a missing file. To fall back to the shared file could lead to another
    /// Pod's controller.
    #[error("{} is a symlink to {}, which does not exist", .path.display(), .target.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
        /// Its target.
        target: PathBuf,
    },
    /// A file is there and cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file was read and is wrong.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl LoadError {
    /// The error in one line, as for a log or a job's reason.
    pub fn one_line(&self) -> Words {
        match self {
            Self::Broken(broken) => broken.one_line(),
            other => Words::of(other),
        }
    }
}

/// The reason why the text of a good file could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .path.display())]
pub struct KeepError {
    /// The file that was to have the text.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// All errors of one file. Its `Display` takes several lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Broken {
    /// The file.
    pub path: PathBuf,
    /// The errors, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Broken {
    /// The first problem, and how many more there are, in one line with the file's bare name.
    pub fn one_line(&self) -> Words {
        let name = self.path.file_name().map_or(self.path.as_path(), Path::new).display();
        let Some(first) = self.problems.first() else { return words!("{name}: broken") };
        let place = first.spot.as_ref().map_or(String::new(), |spot| format!("{}:", spot.line));
        let more = match self.problems.len() - 1 {
            0 => String::new(),
            1 => " (and 1 more error)".to_owned(),
            n => format!(" (and {n} more errors)"),
        };
        words!("{name}:{place} {}{more}", first.reason)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { reason, spot }) in self.problems.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{}:", self.path.display())?;
            match spot {
                Some(spot) => write!(f, "{}:{}: {reason}\n{spot}", spot.line, spot.column)?,
                None => write!(f, " {reason}")?,
            }
        }
        Ok(())
    }
}
