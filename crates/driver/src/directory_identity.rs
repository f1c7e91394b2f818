//! The check that a directory of IPUoF files is still the one that was in use.
//!
//! The mount point of an unmounted file system looks like an empty directory. Each directory that is taken
//! into use therefore gets a small file, named after the cluster, with a random id. StateSaveLocation
//! remembers the id.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ipuof::{Error, IpuofDir};

/// The marks of one cluster. Blocks on the file system.
#[derive(Debug)]
pub(crate) struct DirectoryIdentities {
    /// The name of the file in each directory.
    name: String,
    /// The file that keeps the ids.
    memory: Option<PathBuf>,
    /// The id of each directory. Empty for a directory whose files are older than the marks.
    known: Mutex<Known>,
    /// Held while a directory is taken into use.
    taking: Mutex<()>,
}

type Known = BTreeMap<PathBuf, String>;

/// The reason why files are neither written nor deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotUsable {
    #[error(transparent)]
    Refused(#[from] Error),
    #[error(
        "{} is not the directory that was in use: {found} in {name} there (is its file system mounted?); \
         if it was replaced on purpose: echo {id} > {}", .directory.display(), .directory.join(name).display()
    )]
    Another { directory: PathBuf, name: String, id: String, found: String },
    #[error("{}: {cause}", .memory.display())]
    Forgotten { memory: PathBuf, cause: io::Error },
}

impl DirectoryIdentities {
    /// The identities that `memory` has. If `memory` does not exist yet, the directories `used` may have
    /// files.
    pub fn new(cluster: &str, memory: Option<PathBuf>, used: impl IntoIterator<Item = PathBuf>) -> Self {
        let name = format!(".vipu_{}", cluster.replace('/', "_"));
        let marks = Self { name, memory, known: Mutex::default(), taking: Mutex::default() };
        let as_found = || used.into_iter().map(|path| (path, String::new())).collect();
        let known = match marks.read() {
            Ok(Some(known)) => known,
            Ok(None) => as_found(),
            Err(why) => {
                tracing::error!("{why}: the directories of IPUoF files are taken as they are found");
                as_found()
            }
        };
        *locked(&marks.known) = known;
        marks
    }

    /// Opens a directory to write files: the one that was in use, or one that is taken into use now.
    pub fn open(&self, path: &Path) -> Result<IpuofDir, NotUsable> {
        let open = IpuofDir::open(path)?;
        if let Some(id) = self.id(path) {
            return self.is_still(id, path, open);
        }
        let _taking = locked(&self.taking);
        if let Some(id) = self.id(path) {
            return self.is_still(id, path, open);
        }
        let id = match self.found(&open)? {
            Some(found) => found,
            None => {
                let id = new_id().map_err(|cause| self.forgotten(cause))?;
                open.set_mark(&self.name, &id)?;
                id
            }
        };
        let known = Known::from([(path.to_owned(), id)]);
        let known: Known = locked(&self.known).clone().into_iter().chain(known).collect();
        self.write(&known).map_err(|cause| self.forgotten(cause))?;
        *locked(&self.known) = known;
        Ok(open)
    }

    /// Opens a directory to delete files. Returns none if no file was ever written there.
    pub fn open_used(&self, path: &Path) -> Result<Option<IpuofDir>, NotUsable> {
        let is_used = locked(&self.known).contains_key(path);
        if is_used { self.open(path).map(Some) } else { Ok(None) }
    }

    fn id(&self, path: &Path) -> Option<String> {
        locked(&self.known).get(path).filter(|id| !id.is_empty()).cloned()
    }

    fn found(&self, open: &IpuofDir) -> Result<Option<String>, Error> {
        Ok(open.mark(&self.name)?.filter(|id| is_id(id)))
    }

    /// Returns the directory if it has this id.
    fn is_still(&self, id: String, path: &Path, open: IpuofDir) -> Result<IpuofDir, NotUsable> {
        let found = self.found(&open)?;
        if found.as_ref() == Some(&id) {
            return Ok(open);
        }
        let found = found.map_or_else(|| "no id".to_owned(), |id| format!("another id, {id},"));
        Err(NotUsable::Another { directory: path.to_owned(), name: self.name.clone(), id, found })
    }

    fn read(&self) -> Result<Option<Known>, NotUsable> {
        let Some(memory) = &self.memory else { return Ok(None) };
        let text = match fs::read_to_string(memory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|cause| self.forgotten(cause))?,
        };
        let known = serde_json::from_str(&text).map_err(|error| self.forgotten(error.into()))?;
        Ok(Some(known))
    }

    /// Replaces the file of ids. A crash leaves the old text or the new one.
    fn write(&self, known: &Known) -> io::Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let new = memory.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(known)?)?;
        file.sync_all()?;
        fs::rename(&new, memory)?;
        File::open(memory.parent().unwrap_or(Path::new(".")))?.sync_all()
    }

    fn forgotten(&self, cause: io::Error) -> NotUsable {
        NotUsable::Forgotten { memory: self.memory.clone().unwrap_or_default(), cause }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Whether this is an id and can be shown to people unchanged.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A StateSaveLocation, and a directory of IPUoF files.
    struct Site {
        around: TempDir,
    }

    impl Site {
        fn new() -> Self {
            let site = Self { around: tempfile::tempdir().unwrap() };
            fs::create_dir(site.ipuof()).unwrap();
            site
        }

        fn ipuof(&self) -> PathBuf {
            self.around.path().join("ipuof")
        }

        fn marks(&self, used: &[PathBuf]) -> DirectoryIdentities {
            DirectoryIdentities::new("a", Some(self.around.path().join("memory")), used.iter().cloned())
        }

        /// Unmounts the file system: the path shows an empty directory.
        fn unmount(&self) {
            fs::rename(self.ipuof(), self.around.path().join("away")).unwrap();
            fs::create_dir(self.ipuof()).unwrap();
        }

        fn mount(&self) {
            fs::remove_dir_all(self.ipuof()).unwrap();
            fs::rename(self.around.path().join("away"), self.ipuof()).unwrap();
        }
    }

    #[test]
    fn an_empty_mount_point_is_not_the_directory_that_was_in_use() {
        let site = Site::new();
        site.marks(&[]).open(&site.ipuof()).unwrap();
        site.unmount();
        // In this slurmctld, and in the next one.
        let error = site.marks(&[]).open(&site.ipuof()).unwrap_err().to_string();
        assert!(error.contains("no id in .vipu_a there (is its file system mounted?)"), "{error}");
        assert!(site.marks(&[]).open_used(&site.ipuof()).is_err());
        site.mount();
        assert!(site.marks(&[]).open_used(&site.ipuof()).unwrap().is_some());
    }

    #[test]
    fn a_directory_that_was_replaced_on_purpose_is_used_as_the_error_says() {
        let site = Site::new();
        let marks = site.marks(&[]);
        marks.open(&site.ipuof()).unwrap();
        site.unmount();
        let error = marks.open(&site.ipuof()).unwrap_err().to_string();
        let (_, command) = error.split_once("on purpose: ").unwrap();
        assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success());
        marks.open(&site.ipuof()).unwrap();
    }

    #[test]
    fn clusters_share_a_directory() {
        let site = Site::new();
        let others = DirectoryIdentities::new("b", Some(site.around.path().join("others")), []);
        for marks in [&site.marks(&[]), &others, &site.marks(&[])] {
            marks.open(&site.ipuof()).unwrap();
        }
        assert_eq!(fs::read_dir(site.ipuof()).unwrap().count(), 2);
    }

    #[test]
    fn nothing_is_deleted_where_nothing_was_written() {
        let site = Site::new();
        let missing = site.around.path().join("missing");
        assert!(site.marks(&[]).open_used(&missing).unwrap().is_none());
        let error = site.marks(&[]).open(&missing).unwrap_err().to_string();
        assert!(error.contains(missing.to_str().unwrap()), "{error}");
        assert!(site.marks(&[]).open_used(&missing).unwrap().is_none());
    }

    #[test]
    fn a_directory_from_before_there_were_marks_is_still_checked() {
        let site = Site::new();
        let away = site.around.path().join("away");
        let marks = site.marks(&[site.ipuof(), away.clone()]);
        assert!(marks.open_used(&away).is_err());
        assert!(marks.open_used(&site.ipuof()).unwrap().is_some());
        site.unmount();
        assert!(marks.open_used(&site.ipuof()).is_err());
    }

    #[test]
    fn our_mark_is_believed_after_the_memory_is_lost() {
        let site = Site::new();
        site.marks(&[]).open(&site.ipuof()).unwrap();
        fs::remove_file(site.around.path().join("memory")).unwrap();
        let marks = site.marks(&[site.ipuof()]);
        marks.open(&site.ipuof()).unwrap();
        site.unmount();
        assert!(marks.open(&site.ipuof()).is_err());
    }
}
