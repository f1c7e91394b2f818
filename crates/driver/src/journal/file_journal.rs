//! The journal in a file.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use ledger::EndedRun;
use tokio::sync::{oneshot, watch};
use vipu_types::{ControllerName, ModelName};

use super::entry::{Entry, LiveRecord};
use super::format::{self, Read};
use super::interface::{Journal, JournalError};
use super::owner::{Ownership, beside};
use super::replay::Book;
use super::writer::{Record, Writer, private};

/// An append-only file of JSON lines. Records that arrive during a flush share the next flush.
///
/// A thread of its own writes the file, because the file may be on a network file system. Dropping the
/// journal waits until that thread has written every record it received.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    ownership: Ownership,
    ended: Vec<EndedRun>,
    records: Option<Sender<Record>>,
    superseded: watch::Receiver<Option<JournalError>>,
    thread: Option<JoinHandle<()>>,
}

impl FileJournal {
    /// Opens the journal at `path`, which need not exist, and returns the partitions that may exist.
    ///
    /// The process that had the journal open before can no longer write it. The file is compacted. A last
    /// line that a crash cut short was never acknowledged and is dropped. Damaged lines are skipped and
    /// logged, and the file is kept as `<path>.bad`. Claims from before a model could have several
    /// controllers get the model's `first` controller. Blocks on the file system.
    ///
    /// # Errors
    /// If the file system refuses, or if a newer version wrote the journal. The latter leaves everything
    /// unchanged.
    pub fn open(
        path: impl Into<PathBuf>,
        first: impl Fn(&ModelName) -> Option<ControllerName>,
    ) -> Result<(Self, Vec<LiveRecord>), JournalError> {
        failpoints::io!("the journal");
        let path = path.into();
        let cannot_read = |error: &dyn Display| JournalError::new(&path, "read it", error);
        let cannot_write = |error: io::Error| JournalError::new(&path, "write it", &error);
        let text = text(&path).map_err(|error| cannot_read(&error))?.unwrap_or_default();
        format::version(&text).map_err(|why| cannot_read(&why))?;
        let ownership = Ownership::claim(&path).map_err(cannot_write)?;
        let book = read(&path, &first).map_err(|error| cannot_read(&error))?;
        let live = book.live().cloned().collect();
        let ended = book.ended().copied().collect();
        let (superseded_by, superseded) = watch::channel(None);
        let writer =
            Writer::new(path.clone(), book, ownership.clone(), superseded_by).map_err(cannot_write)?;
        let (records, received) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("vipu-journal".into())
            .spawn(move || writer.run(&received))
            .map_err(|error| JournalError::new(&path, "start its thread", &error))?;
        let thread = Some(thread);
        Ok((Self { path, ownership, ended, records: Some(records), superseded, thread }, live))
    }

    /// The record that this process opened the journal last, as far as is known.
    pub fn ownership(&self) -> Ownership {
        self.ownership.clone()
    }

    /// The runs that had ended of late when the journal was opened.
    pub fn ended_runs(&self) -> &[EndedRun] {
        &self.ended
    }

    async fn write(&self, entry: Option<Entry>) -> Result<(), JournalError> {
        let (done, flushed) = oneshot::channel();
        let records = self.records.as_ref().ok_or_else(|| self.ended())?;
        records.send(Record { entry, done }).map_err(|_| self.ended())?;
        flushed.await.map_err(|_| self.ended())?
    }

    fn ended(&self) -> JournalError {
        JournalError::thread_ended(&self.path)
    }
}

impl Journal for FileJournal {
    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.write(Some(entry)).await
    }

    async fn confirm(&self) -> Result<(), JournalError> {
        self.write(None).await
    }

    async fn superseded(&self) -> JournalError {
        match self.superseded.clone().wait_for(Option::is_some).await.map(|by| by.clone()) {
            Ok(Some(by_another)) => by_another,
            _ => self.ended(),
        }
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        drop(self.records.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, every record that it lost has reported the error.
            let _ = thread.join();
        }
    }
}

fn text(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

fn read(path: &Path, first: &impl Fn(&ModelName) -> Option<ControllerName>) -> io::Result<Book> {
    let Some(text) = text(path)? else { return Ok(Book::default()) };
    let Read { book, torn, damage, lost } = format::parse(&text, first).map_err(io::Error::other)?;
    if torn {
        tracing::warn!("journal {}: its last line was cut short and is dropped", path.display());
    }
    for why in lost {
        tracing::error!("journal {}: {why}; it will not be removed", path.display());
    }
    if let Some(which) = damage.first() {
        let bad = beside(path, "bad");
        private(&bad)?.write_all(&text)?;
        let (path, bad, count) = (path.display(), bad.display(), damage.len());
        tracing::error!(
            "journal {path}: {which}; {count} such lines are passed over, the file is kept as {bad}: partitions that \
             only they name are reported and left alone"
        );
    }
    Ok(book)
}

#[cfg(test)]
#[path = "file_journal_tests.rs"]
mod tests;
