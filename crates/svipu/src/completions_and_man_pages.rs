//! Completions for shells, and man pages. clap makes both from the command line.

use std::path::Path;
use std::{fs, io};

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
    let written = fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory))
        .and_then(|()| name_examples(directory));
    written.map(|()| String::new()).map_err(|why| Failure::Unwritable(directory.to_owned(), why))
}

/// Gives the section of examples its name: clap_mangen calls all text after the options EXTRA. Pages of other
/// programs stay as they are.
fn name_examples(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let page = entry?.path();
        let name = page.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("svipu") && name.ends_with(".1") {
            fs::write(&page, fs::read_to_string(&page)?.replace(".SH EXTRA", ".SH EXAMPLES"))?;
        }
    }
    Ok(())
}
