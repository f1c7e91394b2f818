//! The file with the drains, for a later slurmctld.
//!
//! It is no part of the journal, because a journal with a new kind of entry is unreadable for the version
//! before. The file is small, and it is written only at an administrator's request.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use frontend::Frontend;
use tokio::sync::{Mutex, Notify};
use tokio::task::spawn_blocking;
use tracing::{error, info};
use vipu_status::Drain;
use vipu_types::{Words, words};

use crate::plugin::Plugin;

const NAME: &str = "vipu_drains.json";

/// The file. Writes follow one another.
#[derive(Debug)]
pub(crate) struct DrainsFile {
    path: PathBuf,
    turn: Mutex<()>,
    changed: Notify,
}

impl DrainsFile {
    /// The file in this directory.
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join(NAME), turn: Mutex::default(), changed: Notify::new() }
    }

    /// Drains what an earlier slurmctld had drained. Waits for the disk.
    pub(crate) fn restore(&self, frontend: &Frontend) {
        let restored = self.read().and_then(|drains| {
            frontend.restore_drains(&drains).map_err(Words::of)?;
            Ok(drains.len())
        });
        match restored {
            Ok(0) => {}
            Ok(drains) => {
                info!("{drains} drains of an earlier slurmctld are in force: {}", self.path.display())
            }
            Err(why) => error!(
                "{}: {why}; nothing is drained: drain again with svipu, which replaces the file",
                self.path.display()
            ),
        }
    }

    fn read(&self) -> Result<Vec<Drain>, Words> {
        failpoints::io!("the file of drains");
        match fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|why| words!("it is no list of drains: {why}")),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(why) => Err(words!("cannot read it: {why}")),
        }
    }

    /// Waits until the drains have changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Writes the drains of the plugin, which have changed. They are durable on return.
    pub(crate) async fn save(&self, plugin: &Weak<Plugin>) -> Result<(), Words> {
        self.changed.notify_one();
        let _turn = self.turn.lock().await;
        let Some(drains) = plugin.upgrade().map(|plugin| plugin.frontend.drains()) else { return Ok(()) };
        let path = self.path.clone();
        let written =
            spawn_blocking(move || replace(&path, &drains)).await.map_err(io::Error::other).flatten();
        written.map_err(|why| {
            words!(
                "the drains end with this slurmctld, because {} cannot be written: {why}",
                self.path.display()
            )
        })
    }
}

/// Writes a new file and renames it: a crash leaves the old file or the new one.
fn replace(path: &Path, drains: &[Drain]) -> io::Result<()> {
    failpoints::io!("the file of drains");
    let new = path.with_extension(format!("json.new.{}", std::process::id()));
    // The file may be left from a crash of a process with this id.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(&serde_json::to_vec(drains)?).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| drop(fs::remove_file(&new)))?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_steer_drains_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = DrainsFile::in_dir(dir.path());
        assert_eq!(file.read(), Ok(vec![]), "no file");
        let drain =
            Drain { model: "pod64".into(), reason: "new switch".into(), until: Some(1), ..Drain::default() };
        for drains in [vec![drain.clone(), drain], vec![]] {
            replace(&file.path, &drains).unwrap();
            assert_eq!(file.read(), Ok(drains));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
        fs::write(&file.path, "[{\"model\":").unwrap();
        assert!(file.read().unwrap_err().starts_with("it is no list of drains: EOF"));
    }
}
