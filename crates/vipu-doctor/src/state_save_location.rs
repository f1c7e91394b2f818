//! StateSaveLocation and the journal in it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use vipu_status::Status;
use vipu_types::{Words, words};

use crate::finding::Finding;
use crate::host::{self, Host, Unseen, unless_denied};
use crate::slurm_conf::Slurm;

/// The free bytes below which the journal may soon find no room.
const LITTLE: u64 = 100 << 20;

/// StateSaveLocation.
pub(crate) struct State {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The free bytes of its file system for users other than root.
    pub(crate) free: u64,
    /// Whether its file system takes no further file, although bytes are free.
    pub(crate) lacks_inodes: bool,
    /// Whether its file system is mounted read-only.
    pub(crate) is_read_only: bool,
    /// The journal, if there is one.
    pub(crate) journal: Option<JournalFile>,
    /// Whether slurmctld has put a damaged journal aside.
    has_damaged_journal: bool,
}

/// The journal.
pub(crate) struct JournalFile {
    /// Its damaged lines, in words, or why slurmctld could not use it.
    damage: Result<Vec<Words>, Words>,
    /// Why what slurmctld writes does not reach the disk.
    pub(crate) not_durable: Option<String>,
}

/// Looks at StateSaveLocation. None on a host without slurmctld.
pub(crate) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Option<State> {
    let path = slurm.state_save_location();
    let place = host.at(&path);
    if !slurm.is_controller_host {
        return None;
    }
    match statvfs(&place) {
        Ok(disk) => Some(State {
            lacks_inodes: disk.files() > 0 && disk.files_available() == 0,
            is_read_only: disk.flags().contains(FsFlags::ST_RDONLY),
            journal: journal(host, &path.join("vipu_journal"), unseen),
            free: disk.blocks_available().saturating_mul(disk.fragment_size()),
            has_damaged_journal: place.join("vipu_journal.bad").exists(),
            path,
        }),
        Err(why) => {
            unseen.push((path.display().to_string(), std::io::Error::from(why).to_string()));
            None
        }
    }
}

fn journal(host: &Host<'_>, path: &Path, unseen: &mut Unseen) -> Option<JournalFile> {
    let place = host.at(path);
    let damage = match unless_denied(path, host::read(&place), unseen)? {
        Ok(text) => driver::journal::damage(&text),
        Err(why) if why.kind() == ErrorKind::NotFound => return None,
        Err(why) => Err(words!("cannot read it: {why}")),
    };
    // This writes nothing that slurmctld has not written.
    let flushed = File::open(&place).and_then(|file| file.sync_all());
    Some(JournalFile { damage, not_durable: flushed.err().map(|why| why.to_string()) })
}

/// The disk has room for the journal.
pub(crate) fn disk(state: &State) -> Option<Finding> {
    let room = "make room on the disk of StateSaveLocation";
    let (what, fix) = if state.is_read_only {
        ("its file system is read-only, so that no job with IPUs starts".to_owned(), "mount it for writing")
    } else if state.lacks_inodes {
        (
            "its file system takes no further file (no inodes), so that no job with IPUs starts".to_owned(),
            room,
        )
    } else if state.free < LITTLE {
        let free = state.free >> 20;
        (format!("{free} MiB are free; without room for the journal no job with IPUs starts"), room)
    } else {
        return None;
    };
    Some(Finding::error(state.path.display().to_string(), what, fix))
}

/// The journal is whole, was never damaged, and its entries reach the disk.
pub(crate) fn journal_is_whole(state: Option<&State>, status: Option<&Status>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(state) = state.filter(|state| state.has_damaged_journal) {
        let path = state.path.join("vipu_journal.bad").display().to_string();
        let what = "slurmctld once found a damaged journal, and put it aside";
        let fix = format!("look for partitions without a job, then rm {path}");
        findings.push(Finding::warning(path, what, fix));
    }
    findings.extend(state.into_iter().flat_map(journal_file));
    let lag = status.map_or(0.0, |status| status.counters.journal.lag);
    if lag > 10.0 {
        let what = format!("an entry of the journal is not on disk after {lag:.0} s");
        findings.push(Finding::error("vipu_journal", what, "look at the disk of StateSaveLocation"));
    }
    findings
}

fn journal_file(state: &State) -> Vec<Finding> {
    let Some(journal) = &state.journal else { return Vec::new() };
    let path = state.path.join("vipu_journal").display().to_string();
    let mut findings = Vec::new();
    match journal.damage.as_deref() {
        Err(why) => findings.push(Finding::error(
            &path,
            why.to_string(),
            "mend this: until then no job with IPUs starts",
        )),
        Ok([]) => {}
        Ok([first, more @ ..]) => {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            let what = format!("{first}{more}: a slurmctld that starts passes over such a line");
            let fix = "look at the disk of StateSaveLocation, and for partitions without a job after the next start";
            findings.push(Finding::warning(&path, what, fix));
        }
    }
    if let Some(why) = &journal.not_durable {
        let what = format!("what is written to it may not reach the disk: {why}");
        findings.push(Finding::error(path, what, "put StateSaveLocation on a file system that has fsync"));
    }
    findings
}
