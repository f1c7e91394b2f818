//! The thread that writes the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::book::Book;
use super::{Entry, JournalError, format};

/// The file may grow to this, or to four times what it has to hold, before it is compacted.
const SMALL: u64 = 1 << 20;

/// An entry, and who waits until it is durable.
pub(super) struct Record {
    pub entry: Entry,
    pub done: oneshot::Sender<Result<(), JournalError>>,
}

/// The open file and what it amounts to.
pub(super) struct Writer {
    path: PathBuf,
    book: Book,
    file: File,
    length: u64,
    limit: u64,
    /// The file holds what `book` holds, down to the disk.
    sound: bool,
}

impl Writer {
    /// Replaces the file at `path` by one that holds `book`.
    pub fn new(path: PathBuf, book: Book) -> io::Result<Self> {
        let (file, length) = replace(&path, &book)?;
        Ok(Self { path, book, file, length, limit: limit(length), sound: true })
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
            let flushed = written.map_err(io::Error::from).and_then(|()| self.flush(&text));
            self.sound = flushed.is_ok();
            let result = flushed.map_err(|error| JournalError::new(&self.path, "write it", &error));
            for done in waiting {
                // Who gave up waiting does not want to know.
                let _ = done.send(result.clone());
            }
        }
    }

    /// Appends `text`; or writes the whole file anew when it has grown large, or when an earlier
    /// failure left unknown what is in it.
    fn flush(&mut self, text: &[u8]) -> io::Result<()> {
        if self.sound && self.length < self.limit {
            self.file.write_all(text)?;
            self.file.sync_data()?;
            self.length += text.len() as u64;
        } else {
            (self.file, self.length) = replace(&self.path, &self.book)?;
            self.limit = limit(self.length);
        }
        Ok(())
    }
}

fn limit(compacted: u64) -> u64 {
    compacted.saturating_mul(4).max(SMALL)
}

/// Writes `book` to a new file and renames it to `path`: a crash leaves the old one or the new.
fn replace(path: &Path, book: &Book) -> io::Result<(File, u64)> {
    let text = format::whole(book)?;
    let new = super::beside(path, "new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
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
        let writer = Writer::new(path.into(), Book::default()).unwrap();
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
        assert!(format::parse(&text, &|_| None).is_ok_and(|read| !read.torn));
    }
}
