//! The driver's interface to a journal, and the errors of recording.

use std::fmt::Display;
use std::future::Future;
use std::path::Path;

use super::entry::Entry;

/// The store of entries.
pub trait Journal: 'static {
    /// Records an entry. The entry is durable when this returns. Entries keep the order of the calls, also if
    /// a future is dropped after its first poll.
    fn record(&self, entry: Entry) -> impl Future<Output = Result<(), JournalError>>;

    /// Returns once it is certain that the journal had no other owner when this was called. A removal without
    /// a journal entry needs that certainty.
    fn confirm(&self) -> impl Future<Output = Result<(), JournalError>> {
        std::future::ready(Ok(()))
    }

    /// Whether a partition that is missing from the journal was not made by this cluster, as far as the
    /// journal can know.
    fn is_complete(&self) -> bool {
        true
    }

    /// Waits until nothing can be recorded any more, for example because another slurmctld has taken the
    /// journal over. See [`JournalError::is_final`].
    fn superseded(&self) -> impl Future<Output = JournalError> {
        std::future::pending()
    }
}

/// The reason why the journal could not be read or written. Names the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("journal {path}: cannot {doing}: {cause}")]
pub struct JournalError {
    path: String,
    doing: &'static str,
    cause: String,
    kind: Kind,
}

/// The consequence of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An entry is not on record.
    Unwritten,
    /// The owner of the journal is unknown.
    Blind,
    /// Nothing can be recorded any more.
    Final,
}

impl JournalError {
    /// An error of `doing` with the file at `path`, caused by `cause`.
    pub fn new(path: &Path, doing: &'static str, cause: &dyn Display) -> Self {
        Self { path: path.display().to_string(), doing, cause: cause.to_string(), kind: Kind::Unwritten }
    }

    /// An error that says that `who` has taken over the journal at `path`. See [`JournalError::is_final`].
    pub fn taken_over(path: &Path, who: &str) -> Self {
        Self { kind: Kind::Final, ..Self::new(path, "write it", &format!("{who} has taken it over")) }
    }

    /// An error that says that the writer of the journal at `path` has ended. Nothing can be recorded any
    /// more.
    pub fn thread_ended(path: &Path) -> Self {
        Self { kind: Kind::Final, ..Self::new(path, "write it", &"its thread has ended") }
    }

    /// Whether nothing can be recorded any more, for example because another slurmctld has taken over. After
    /// this error, nothing may be done any more.
    pub fn is_final(&self) -> bool {
        self.kind == Kind::Final
    }

    /// An error that says that the owner of the journal at `path` could not be found out.
    pub fn blind(path: &Path, cause: &dyn Display) -> Self {
        Self { kind: Kind::Blind, ..Self::new(path, "find out which slurmctld has it", cause) }
    }

    /// Whether another slurmctld may be in charge. After this error, nothing may be removed until the owner
    /// is known.
    pub fn is_blind(&self) -> bool {
        self.kind == Kind::Blind
    }
}

/// No journal: the file could not be read, so nobody knows what is ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    async fn record(&self, _: Entry) -> Result<(), JournalError> {
        Ok(())
    }

    fn is_complete(&self) -> bool {
        false
    }
}
