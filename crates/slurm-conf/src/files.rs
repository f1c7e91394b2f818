//! The files of the caller.

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
