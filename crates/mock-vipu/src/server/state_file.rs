//! The state of a Pod in a file. The real server keeps its state in a file too.

use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use crate::pod::Saved;

pub(crate) fn read(path: &Path) -> io::Result<Option<Saved>> {
    match fs::File::open(path) {
        Ok(file) => Ok(serde_json::from_reader(BufReader::new(file)).map(Some)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, so that a server killed at any moment leaves a complete file.
pub(crate) fn write(path: &Path, saved: &Saved) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    let mut file = BufWriter::new(fs::File::create(&beside)?);
    serde_json::to_writer(&mut file, saved)?;
    file.flush()?;
    fs::rename(&beside, path)
}
