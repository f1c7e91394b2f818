//! Completions for shells, and man pages. clap makes both from the command line.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::error::Failure;

/// The completion for a shell.
pub(crate) fn completion(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "svipu", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a page for each command to a directory.
pub(crate) fn pages(directory: &Path) -> Result<String, Failure> {
    let written = clap_mangen::generate_to(Arguments::command(), directory);
    written.map(|()| String::new()).map_err(|why| Failure::Unwritable(directory.to_owned(), why))
}
