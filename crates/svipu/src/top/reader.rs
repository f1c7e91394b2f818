//! Reads the document on a thread of its own.

use std::io;
use std::time::Duration;

use vipu_status::Status;

use super::document_file::DocumentFile;
use crate::background::Background;
use crate::error::Failure;

/// The reader of a document.
pub(super) struct Reader(Background<(), Option<Read>>);

/// A document, or the reason why it cannot be read.
type Read = Result<Status, String>;

impl Reader {
    /// Starts the thread.
    pub(super) fn start(mut file: DocumentFile) -> io::Result<Self> {
        let read = move |()| file.has_changed().then(|| file.read().map_err(Failure::reason));
        Ok(Self(Background::start(read)?))
    }

    /// The newest document, if it is another one than before. A read that hangs is not waited for.
    pub(super) fn newest(&mut self) -> Option<Read> {
        if self.hangs().is_none() {
            self.0.ask(());
        }
        self.0.answer().flatten()
    }

    /// The time for which a read has not ended.
    pub(super) fn hangs(&self) -> Option<Duration> {
        self.0.due()
    }
}
