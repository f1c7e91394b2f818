//! The last good texts of each model, kept for a later slurmctld.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

use vipu_types::ModelName;

use crate::error::{KeepError, LoadError};
use crate::files::{self, Good};

/// A directory that outlives slurmctld, with one `vipu_conf.<model>` for each model that ever had a good file,
/// and a `vipu_conf.<model>.hosts` if it had a HostMap.
#[derive(Clone, Debug)]
pub struct SavedConf(PathBuf);

impl SavedConf {
    /// The texts kept in `dir`. Reads nothing yet.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    /// The last good text of a model; `None` if no text was kept.
    ///
    /// # Errors
    /// When the kept text cannot be read, or is no longer valid.
    pub fn good(&self, model: &ModelName) -> Result<Option<Good>, LoadError> {
        let path = self.path(model);
        match files::read(&path) {
            Ok(text) => files::with_host_map(path, text, |_, _| self.host_map(model)).map(Some),
            Err(source) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LoadError::Unreadable { path, source }),
        }
    }

    /// Keeps the texts of a good file: its own, and that of its HostMap. They are durable on return, and are not
    /// written again if they are kept already.
    ///
    /// # Errors
    /// When the file system refuses. Each text kept before is then still there or replaced, never in parts. The map
    /// comes first: a crash in between leaves the new map with the old settings.
    pub fn keep(&self, model: &ModelName, text: &str, host_map: Option<&str>) -> Result<(), KeepError> {
        host_map.map_or(Ok(()), |hosts| self.keep_one(self.host_map(model), hosts))?;
        self.keep_one(self.path(model), text)
    }

    fn keep_one(&self, path: PathBuf, text: &str) -> Result<(), KeepError> {
        if files::read(&path).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        self.replace(&path, text).map_err(|source| KeepError { path, source })
    }

    /// Writes a new file and renames it: a crash leaves the old text or the new one.
    fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        // No model has this name, because names of models have no dot. The process id is there because
        // another slurmctld, which this one replaces, may be writing too.
        let new = path.with_added_extension(format!("new.{}", process::id()));
        // The file may be left from a crash of a process with this id.
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| fs::rename(&new, path));
        renamed.inspect_err(|_| drop(fs::remove_file(&new)))?;
        File::open(&self.0)?.sync_all()
    }

    /// The file with the IPUs of each host of a model.
    fn host_map(&self, model: &ModelName) -> PathBuf {
        self.0.join(format!("vipu_conf.{model}.hosts"))
    }

    /// The file with the text of a model.
    pub fn path(&self, model: &ModelName) -> PathBuf {
        self.0.join(format!("vipu_conf.{model}"))
    }
}
