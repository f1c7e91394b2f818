//! The ownership of the journal: one slurmctld writes it at a time.
//!
//! Two may run for a while. Since 23.11 a reconfigure starts the new slurmctld before the old one ends. A
//! backup takes over from a primary that may only have hung. A process that hangs would keep a lock, and not
//! every file system that a backup shares has locks. A slurmctld that opens the journal therefore writes its
//! mark into a small file beside it, before it reads the journal. A process that finds another's mark after a
//! write does not know whether the text will be read: it has been superseded.
//!
//! The mark is overwritten in place. Opening an existing file asks the server, also on NFS. A renamed file
//! may be seen half a minute late.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

/// The record that this process opened the journal at a certain time.
#[derive(Clone, Debug)]
pub struct Ownership {
    path: PathBuf,
    mark: String,
    /// Cancelled when the mark of another process was found.
    lost: CancellationToken,
}

/// The present owner of the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JournalOwner {
    Us,
    /// A process that we see. It may turn out to be unable to take over, as in a failed reconfigure. Until it
    /// has ended or is in another place, nothing is written and no record is answered.
    Here,
    /// A process that we saw and that has ended without a successor. The journal is ours if we take it back.
    Ended,
    /// A process that we do not see, in words. It is in charge.
    Elsewhere(String),
}

impl Ownership {
    /// Takes the journal over from its owner.
    pub(super) fn claim(journal: &Path) -> io::Result<Self> {
        let path = beside(journal, "owner");
        let before = read(&path)?.and_then(|mark| mark.split(' ').next()?.parse::<u64>().ok());
        let epoch = before.unwrap_or(0).saturating_add(1);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let ours = Self {
            path,
            mark: format!("{epoch} {} {} {since}\n", place()?, process::id()),
            lost: CancellationToken::new(),
        };
        ours.write()?;
        Ok(ours)
    }

    /// Whether another process was seen to have opened the journal since, if only for a while. The writer of
    /// the journal looks every few seconds. This function does not.
    pub fn was_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Waits until [`Ownership::was_lost`].
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Finds the present owner of the journal.
    pub(super) fn owner(&self) -> io::Result<JournalOwner> {
        let Some(mark) = read(&self.path)?.filter(|mark| *mark != self.mark) else {
            return if self.path.exists() {
                Ok(JournalOwner::Us)
            } else {
                self.write().map(|()| JournalOwner::Us)
            };
        };
        self.lost.cancel();
        let [_, its_place, id, _] = *mark.split_ascii_whitespace().collect::<Vec<_>>() else {
            return Ok(JournalOwner::Here); // It is being written.
        };
        if its_place != place()? {
            let host = its_place.split(':').next().unwrap_or_default();
            return Ok(JournalOwner::Elsewhere(format!("the slurmctld of process {id} on {host}")));
        }
        if Path::new("/proc").join(id).exists() {
            return Ok(JournalOwner::Here);
        }
        Ok(JournalOwner::Ended)
    }

    /// Takes the journal back from a process that has ended.
    pub(super) fn take_back(&self) -> io::Result<()> {
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        failpoints::io!("the journal's owner");
        // The file is not truncated first, because others may read it at any moment.
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        file.write_all(self.mark.as_bytes())?;
        file.set_len(self.mark.len() as u64)?;
        file.sync_all()
    }
}

/// The path of a file beside `path`, with one more suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(suffix);
    name.into()
}

/// The scope of our process ids: the host, and the namespace on it.
fn place() -> io::Result<String> {
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    Ok(format!("{}:{}", nix::unistd::gethostname()?.display(), namespace.display()))
}

fn read(path: &Path) -> io::Result<Option<String>> {
    failpoints::io!("the journal's owner");
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        mark => Ok(Some(String::from_utf8_lossy(&mark?).into_owned())),
    }
}
