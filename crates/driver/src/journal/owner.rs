//! Who writes the journal: one slurmctld at a time.
//!
//! Two may run for a while: since 23.11 a reconfigure starts the new one before the old one ends, and a backup takes
//! over from a primary that may only have hung. A lock would be kept by one that hangs, and not every file system
//! that a backup shares has locks. So whoever opens the journal writes its mark into a small file beside it, before
//! it reads the journal; and whoever finds another's mark after writing does not know whether anybody will read what
//! it wrote. It has been superseded.
//!
//! The mark is overwritten in place: an open of a file that is there is asked of the server, also on NFS, while
//! a renamed one may be seen half a minute later.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::beside;

/// This process, as the one that opened the journal last.
#[derive(Debug)]
pub(super) struct Owner {
    path: PathBuf,
    mark: String,
}

impl Owner {
    /// Takes the journal over from whoever had it.
    pub fn claim(journal: &Path) -> io::Result<Self> {
        let path = beside(journal, "owner");
        let before = read(&path)?.and_then(|mark| mark.split(' ').next()?.parse::<u64>().ok());
        let epoch = before.unwrap_or(0).saturating_add(1);
        let host = nix::unistd::gethostname()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mark = format!("{epoch} {} {} {since}\n", host.display(), std::process::id());
        let owner = Self { path, mark };
        owner.write()?;
        Ok(owner)
    }

    /// Whoever has taken the journal over since, in words; `None` while nobody has.
    pub fn successor(&self) -> io::Result<Option<String>> {
        match read(&self.path)? {
            Some(mark) if mark == self.mark => Ok(None),
            Some(mark) => Ok(Some(describe(&mark))),
            None => self.write().map(|()| None), // Somebody tidied up.
        }
    }

    fn write(&self) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
        file.write_all(self.mark.as_bytes())?;
        file.sync_all()
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        mark => Ok(Some(String::from_utf8_lossy(&mark?).into_owned())),
    }
}

fn describe(mark: &str) -> String {
    match *mark.split_ascii_whitespace().collect::<Vec<_>>() {
        [_, host, process, _] => format!("the slurmctld of process {process} on {host}"),
        _ => "another slurmctld".into(),
    }
}
