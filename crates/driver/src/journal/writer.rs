//! The thread that writes the file.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::book::Book;
use super::entry::Entry;
use super::format;
use super::interface::JournalError;
use super::owner::{JournalOwner, Ownership};
use super::paths::{beside, private};

/// The file may grow to this, or to four times what it has to hold, before it is compacted.
const SMALL: u64 = 1 << 20;

/// How often one that has nothing to write looks whether it was superseded.
const LOOK: Duration = Duration::from_secs(5);

/// How often one that has something to write looks whether it may.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What is about to replace the file has a name of its own for each process: there may be two for a moment.
const NEW: &str = "new";

/// Why nothing was written.
enum Unable {
    /// It could not be found out who has the journal.
    Look(io::Error),
    Write(io::Error),
}

/// An entry, if there is one, and who waits until it is durable.
pub(super) struct Record {
    pub entry: Option<Entry>,
    pub done: oneshot::Sender<Result<(), JournalError>>,
}

/// The open file and what it amounts to.
pub(super) struct Writer {
    path: PathBuf,
    ownership: Ownership,
    book: Book,
    file: File,
    length: u64,
    limit: u64,
    /// The file holds what `book` holds, but for `unwritten`, down to the disk.
    sound: bool,
    /// What is not known to be written.
    unwritten: Vec<Entry>,
    /// Who waits until it is.
    waiting: Vec<oneshot::Sender<Result<(), JournalError>>>,
    /// That another has taken the journal over for good: nothing is written any more.
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

    /// Writes until the senders are gone; what has come meanwhile goes out in one flush.
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

    /// Writes what there is to write, and answers; or leaves it while another process here may or may not be
    /// about to take our place.
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
        // What was not written for an error is in the book, and will be with the next.
        self.sound &= result.is_ok();
        for done in self.waiting.drain(..) {
            // Who gave up waiting does not want to know.
            let _ = done.send(result.clone());
        }
    }

    /// Appends the text; or writes the whole file anew when it has grown large, when an earlier failure left
    /// unknown what is in it, or when it is not there any more. Says who owns the journal after that.
    ///
    /// A successor that came before the text was written out may have read the file without it; there is one
    /// whenever its mark is found after that.
    fn flush(&mut self) -> Result<JournalOwner, Unable> {
        failpoints::io!("the journal");
        let mut owner = self.ownership.owner().map_err(Unable::Look)?;
        if owner == JournalOwner::Ended {
            self.take_back().map_err(Unable::Look)?;
            owner = JournalOwner::Us;
        }
        let is_whole = self.sound && self.is_in_place();
        if owner != JournalOwner::Us || (is_whole && self.waiting.is_empty()) {
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

    /// Our successor has ended: its entries are read before ours are written, or what it made would be
    /// nobody's.
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

    /// Whether the open file is the one that others find: one that was superseded a moment ago may have
    /// replaced it.
    fn is_in_place(&self) -> bool {
        let identity = |meta: Metadata| (meta.dev(), meta.ino());
        let (found, open) = (fs::metadata(&self.path).map(identity), self.file.metadata().map(identity));
        found.is_ok_and(|found| open.is_ok_and(|open| found == open))
    }
}

fn limit(compacted: u64) -> u64 {
    compacted.saturating_mul(4).max(SMALL)
}

/// Removes what a process left that ended before it could replace the file at `path`.
fn remove_leftovers(path: &Path) -> io::Result<()> {
    let prefix = beside(path, NEW);
    for entry in fs::read_dir(folder(path))? {
        let leftover = entry?.path();
        if leftover.with_extension("") == prefix {
            fs::remove_file(leftover)?;
        }
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes `book` to a new file and renames it to `path`: a crash leaves the old one or the new.
fn replace(path: &Path, book: &Book) -> io::Result<(File, u64)> {
    let text = format::whole(book)?;
    let new = beside(path, &format!("{NEW}.{}", std::process::id()));
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

    /// Gives `count` records at once to a writer and says whether each was written.
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
    fn what_comes_at_once_shares_a_flush() {
        let dir = tempfile::tempdir().unwrap();
        // One flush, one failure: had there been another flush, it would have mended the file.
        assert_eq!(write(broken(&dir.path().join("journal")), 100), [false; 100]);
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
