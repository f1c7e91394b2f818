//! The thread that writes the journal file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::entry::Entry;
use super::format;
use super::interface::JournalError;
use super::owner::{JournalOwner, Ownership, beside};
use super::replay::Book;

/// The size below which the file is not compacted. A larger file is compacted at four times its compacted
/// size.
const SMALL: u64 = 1 << 20;

/// The interval at which an idle writer checks whether it was superseded.
const LOOK: Duration = Duration::from_secs(5);

/// The interval at which a writer with waiting records checks whether it may write.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The suffix of the file that is about to replace the journal. Its name also has the process id, because two
/// processes may write for a moment.
const NEW: &str = "new";

/// The reason why nothing was written.
enum Unable {
    /// The owner of the journal could not be found out.
    Look(io::Error),
    Write(io::Error),
}

/// An entry, if there is one, and the sender that reports when it is durable.
pub(super) struct Record {
    pub entry: Option<Entry>,
    pub done: oneshot::Sender<Result<(), JournalError>>,
}

/// The open file and the state of its entries.
pub(super) struct Writer {
    path: PathBuf,
    ownership: Ownership,
    book: Book,
    file: File,
    length: u64,
    limit: u64,
    /// The file on disk holds all entries of `book`, except for `unwritten`.
    sound: bool,
    /// Entries that may not be on disk.
    unwritten: Vec<Entry>,
    /// The senders that wait for a flush.
    waiting: Vec<oneshot::Sender<Result<(), JournalError>>>,
    /// Set when another process has taken over the journal for good. Nothing is written after that.
    superseded: watch::Sender<Option<JournalError>>,
}

impl Writer {
    /// Replaces the file at `path` by one that holds `book`.
    pub fn new(
        path: PathBuf,
        book: Book,
        ownership: Ownership,
        superseded: watch::Sender<Option<JournalError>>,
    ) -> io::Result<Self> {
        remove_leftovers(&path)?;
        let (file, length) = replace(&path, &book)?;
        let limit = limit(length);
        let (unwritten, waiting) = (Vec::new(), Vec::new());
        Ok(Self { path, ownership, book, file, length, limit, sound: true, unwritten, waiting, superseded })
    }

    /// Writes until all senders are dropped. Records that have arrived meanwhile share one flush.
    pub fn run(mut self, records: &Receiver<Record>) {
        loop {
            let pause = if self.waiting.is_empty() { LOOK } else { LOOK_AGAIN };
            match records.recv_timeout(pause) {
                Ok(first) => {
                    std::iter::once(first).chain(records.try_iter()).for_each(|record| self.take(record));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.work();
        }
    }

    fn take(&mut self, Record { entry, done }: Record) {
        if let Some(entry) = entry {
            self.unwritten.push(entry.clone());
            self.book.apply(entry);
        }
        self.waiting.push(done);
    }

    /// Writes all waiting entries and answers their senders. Both wait while another process on this host may
    /// be about to take over.
    fn work(&mut self) {
        let flushed = self.flush();
        let result = match flushed {
            Ok(JournalOwner::Us) => {
                self.unwritten.clear();
                Ok(())
            }
            Ok(JournalOwner::Here | JournalOwner::Ended) => return,
            Ok(JournalOwner::Elsewhere(who)) => {
                let by_another = JournalError::taken_over(&self.path, &who);
                self.superseded.send_replace(Some(by_another.clone()));
                Err(by_another)
            }
            Err(Unable::Look(error)) => Err(JournalError::blind(&self.path, &error)),
            Err(Unable::Write(error)) => Err(JournalError::new(&self.path, "write it", &error)),
        };
        // Entries that an error kept from the file are in the book. The next write includes them.
        self.sound &= result.is_ok();
        for done in self.waiting.drain(..) {
            // A receiver that stopped waiting does not need the answer.
            let _ = done.send(result.clone());
        }
    }

    /// Appends the text. The whole file is written anew if it has grown large, if an earlier failure left its
    /// contents unknown, or if it has vanished. Returns the owner of the journal after that.
    ///
    /// A successor that came before the end of the write may have read the file without the new text. Its
    /// mark is found after the write.
    fn flush(&mut self) -> Result<JournalOwner, Unable> {
        failpoints::io!("the journal");
        let mut owner = self.ownership.owner().map_err(Unable::Look)?;
        if owner == JournalOwner::Ended {
            self.take_back().map_err(Unable::Look)?;
            owner = JournalOwner::Us;
        }
        let is_whole = self.sound && self.is_in_place();
        // A record without an entry asks for the owner only.
        if owner != JournalOwner::Us || (is_whole && self.unwritten.is_empty()) {
            return Ok(owner);
        }
        if is_whole && self.length < self.limit {
            self.append().map_err(Unable::Write)?;
        } else {
            (self.file, self.length) = replace(&self.path, &self.book).map_err(Unable::Write)?;
            self.limit = limit(self.length);
            self.sound = true;
        }
        let owner = self.ownership.owner().map_err(Unable::Look)?;
        self.sound &= owner == JournalOwner::Us;
        Ok(owner)
    }

    fn append(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.unwritten.iter().try_for_each(|entry| format::line(&mut text, entry))?;
        self.file.write_all(&text)?;
        self.file.sync_data()?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Takes the journal back from a successor that has ended. Its entries are read before ours are written,
    /// or its partitions would be forgotten.
    fn take_back(&mut self) -> io::Result<()> {
        let theirs = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            text => format::parse(&text?, &|_| None).ok().filter(|read| read.damage.is_empty()),
        };
        if let Some(theirs) = theirs {
            self.book = theirs.book;
            self.unwritten.iter().cloned().for_each(|entry| self.book.apply(entry));
        }
        self.sound = false;
        self.ownership.take_back()
    }

    /// Whether the open file is the one at the path. A process that was superseded a moment ago may have
    /// replaced the file.
    fn is_in_place(&self) -> bool {
        let identity = |meta: Metadata| (meta.dev(), meta.ino());
        let (found, open) = (fs::metadata(&self.path).map(identity), self.file.metadata().map(identity));
        found.is_ok_and(|found| open.is_ok_and(|open| found == open))
    }
}

fn limit(compacted: u64) -> u64 {
    compacted.saturating_mul(4).max(SMALL)
}

/// Removes the new files of other processes, which ended before they could replace the file at `path`. An earlier
/// journal of this process may be about to do so.
fn remove_leftovers(path: &Path) -> io::Result<()> {
    let prefix = beside(path, NEW);
    for entry in fs::read_dir(folder(path))? {
        let leftover = entry?.path();
        let is_own = leftover.extension().is_some_and(|end| end.to_string_lossy().starts_with(&own()));
        if leftover.with_extension("") == prefix && !is_own {
            fs::remove_file(leftover)?;
        }
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The beginning of the last part of the names of this process's new files.
fn own() -> String {
    format!("{}-", std::process::id())
}

/// Creates an empty file for its owner only, in place of any other.
pub(super) fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes `book` to a new file and renames it to `path`. A crash leaves the old file or the new one.
fn replace(path: &Path, book: &Book) -> io::Result<(File, u64)> {
    let text = format::whole(book)?;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let new = beside(path, &format!("{NEW}.{}{}", own(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    let mut file = private(&new)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder(path))?.sync_all()?;
    Ok((file, text.len() as u64))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use vipu_types::PartitionId;

    use super::*;

    /// Gives `count` records at once to a writer. Returns whether each was written.
    fn write(writer: Writer, count: u32) -> Vec<bool> {
        let (sender, receiver) = channel();
        let record = |job| {
            let (done, flushed) = oneshot::channel();
            let entry = Some(Entry::Gone(PartitionId::of_run("slurm", job, 0).unwrap()));
            sender.send(Record { entry, done }).unwrap();
            flushed
        };
        let waiting: Vec<_> = (0..count).map(record).collect();
        drop(sender);
        writer.run(&receiver);
        waiting.into_iter().map(|flushed| flushed.blocking_recv().unwrap().is_ok()).collect()
    }

    /// A writer whose file cannot be written to.
    fn broken(path: &Path) -> Writer {
        let writer = Writer::new(
            path.into(),
            Book::default(),
            Ownership::claim(path).unwrap(),
            watch::Sender::default(),
        )
        .unwrap();
        Writer { file: File::open(path).unwrap(), ..writer }
    }

    #[test]
    fn records_that_come_together_share_a_flush() {
        let dir = tempfile::tempdir().unwrap();
        // One flush fails once. A second flush would have mended the file.
        assert_eq!(write(broken(&dir.path().join("journal")), 100), [false; 100]);
    }

    #[test]
    fn a_record_without_an_entry_leaves_the_file_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        // This device cannot be synchronised.
        let mut writer = Writer { file: File::open("/dev/null").unwrap(), ..broken(&path) };
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let (done, flushed) = oneshot::channel();
        writer.take(Record { entry: None, done });
        writer.work();
        assert!(flushed.blocking_recv().unwrap().is_ok());
        assert!(path.is_symlink());
    }

    #[test]
    fn after_a_failure_the_file_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut writer = broken(&path);
        let (done, flushed) = oneshot::channel();
        writer.take(Record { entry: Some(Entry::Gone(PartitionId::of_run("slurm", 1, 0).unwrap())), done });
        writer.work();
        assert!(flushed.blocking_recv().unwrap().is_err());
        assert_eq!(write(writer, 1), [true]);
        let text = fs::read(&path).unwrap();
        assert!(format::parse(&text, &|_| None).is_ok_and(|read| !read.torn && read.damage.is_empty()));
    }
}
