//! The thread that writes the file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::book::Book;
use super::owner::Owner;
use super::{Entry, JournalError, beside, format};

/// The file may grow to this, or to four times what it has to hold, before it is compacted.
const SMALL: u64 = 1 << 20;

/// What is about to replace the file has a name of its own for each process: there may be two for a moment.
const NEW: &str = "new";

/// An entry, and who waits until it is durable.
pub(super) struct Record {
    pub entry: Entry,
    pub done: oneshot::Sender<Result<(), JournalError>>,
}

/// The open file and what it amounts to.
pub(super) struct Writer {
    path: PathBuf,
    owner: Owner,
    book: Book,
    file: File,
    length: u64,
    limit: u64,
    /// The file holds what `book` holds, down to the disk.
    sound: bool,
    /// Who has taken the journal over: nothing is written any more.
    successor: Option<String>,
}

impl Writer {
    /// Replaces the file at `path` by one that holds `book`.
    pub fn new(path: PathBuf, book: Book, owner: Owner) -> io::Result<Self> {
        remove_leftovers(&path)?;
        let (file, length) = replace(&path, &book)?;
        let limit = limit(length);
        Ok(Self { path, owner, book, file, length, limit, sound: true, successor: None })
    }

    /// Writes until the senders are gone; what has come meanwhile goes out in one flush.
    pub fn run(mut self, records: &Receiver<Record>) {
        while let Ok(first) = records.recv() {
            let mut text = Vec::new();
            let mut waiting = Vec::new();
            let mut written = Ok(());
            for Record { entry, done } in std::iter::once(first).chain(records.try_iter()) {
                written = written.and(format::line(&mut text, &entry));
                self.book.apply(entry);
                waiting.push(done);
            }
            let result = written.and_then(|()| self.flush(&text));
            self.sound = result.is_ok();
            let result = result.map_err(|error| JournalError::new(&self.path, "write it", &error));
            let result =
                result.and_then(|()| self.successor.as_ref().map_or(Ok(()), |by| Err(self.superseded(by))));
            for done in waiting {
                // Who gave up waiting does not want to know.
                let _ = done.send(result.clone());
            }
        }
    }

    fn superseded(&self, by: &str) -> JournalError {
        let cause = format!("{by} has taken it over");
        JournalError { is_final: true, ..JournalError::new(&self.path, "write it", &cause) }
    }

    /// Appends `text`; or writes the whole file anew when it has grown large, when an earlier failure left unknown what
    /// is in it, or when it is not there any more. Does nothing once there is a successor.
    ///
    /// A successor that comes before the text is written out may have read the file without it; so there is one
    /// whenever its mark is found after that.
    fn flush(&mut self, text: &[u8]) -> io::Result<()> {
        self.look_for_successor()?;
        if self.successor.is_some() {
            return Ok(());
        }
        if self.sound && self.length < self.limit && self.is_in_place() {
            self.file.write_all(text)?;
            self.file.sync_data()?;
            self.length += text.len() as u64;
        } else {
            (self.file, self.length) = replace(&self.path, &self.book)?;
            self.limit = limit(self.length);
        }
        self.look_for_successor()
    }

    fn look_for_successor(&mut self) -> io::Result<()> {
        if self.successor.is_none() {
            self.successor = self.owner.successor()?;
        }
        Ok(())
    }

    /// Whether the open file is the one that others find: one that was superseded a moment ago may have replaced it.
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
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
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
            let entry = Entry::Gone(PartitionId::of_run("slurm", job, 0).unwrap());
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
        let writer = Writer::new(path.into(), Book::default(), Owner::claim(path).unwrap()).unwrap();
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
        assert!(writer.flush(b"x").is_err());
        writer.sound = false;
        assert_eq!(write(writer, 1), [true]);
        let text = fs::read(&path).unwrap();
        assert!(format::parse(&text, &|_| None).is_ok_and(|read| !read.torn && read.damage.is_empty()));
    }
}
