//! slurm.conf and plugstack.conf: their texts as Slurm reads them, without Slurm.
//!
//! [`SlurmConf`] has the lines of slurm.conf and of the files that it includes, and [`Plugstack`] those of
//! plugstack.conf. Each line knows its file and number. [`HostList`] expands names such as `n[01-36,40]`.
//! [`Edits`] changes single values and leaves all other bytes. The crate opens no file: the caller gives
//! [`Files`]. Broken lines become a [`Problem`] each, never a panic.
//! The rules are those of Slurm 22.05 to 26.05.
#![forbid(unsafe_code)]

mod edits;
mod host_list;
mod lines;
mod locked_memory;
mod plugstack;
mod problem;
mod slurm_conf;

pub use edits::Edits;
pub use host_list::{BadHostList, HostList, MOST_HOSTS};
pub use lines::Pair;
pub use locked_memory::LockedMemory;
pub use plugstack::{Plugin, Plugstack};
pub use problem::{Place, Problem, Reason};
pub use slurm_conf::{Attribute, Line, Named, PROGRAMS_AROUND_JOBS, SlurmConf};

use std::io;
use std::path::{Path, PathBuf};

/// The greatest number of files that are read. A file can include itself.
pub(crate) const MOST_FILES: usize = 1000;

/// The greatest number of files that include each other in a row.
pub(crate) const DEEPEST: usize = 20;

/// The source of the texts.
pub trait Files {
    /// Reads a file. A text that is no UTF-8 may be read with replacement characters.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    fn read(&mut self, path: &Path) -> io::Result<String>;

    /// Returns the files that match a pattern of `glob(7)`, sorted.
    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf>;
}
