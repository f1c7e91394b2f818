//! The state of a Pod in a file. The real server keeps its state in a file too.

use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::pod::Saved;

#[derive(Clone, Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(crate) fn read(&self) -> io::Result<Option<Saved>> {
        match fs::File::open(&self.path) {
            Ok(file) => Ok(serde_json::from_reader(BufReader::new(file)).map(Some)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file as a whole, so that a server killed at any moment leaves a complete file.
    pub(crate) fn write(&self, saved: &Saved) -> io::Result<()> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let mut file = BufWriter::new(fs::File::create(&beside)?);
        serde_json::to_writer(&mut file, saved)?;
        file.flush()?;
        fs::rename(&beside, &self.path)
    }
}
