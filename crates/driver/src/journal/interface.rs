//! What the driver needs of a journal, and how recording can fail.

use std::fmt::Display;
use std::future::Future;
use std::path::Path;

use super::entry::Entry;

/// Where entries are kept.
pub trait Journal: 'static {
    /// Records an entry; it is durable when this returns. Entries are kept in the order of the
    /// calls, also of those whose future is dropped once it was polled.
    fn record(&self, entry: Entry) -> impl Future<Output = Result<(), JournalError>>;

    /// Returns once it is certain that nobody had taken the journal over when this was called: for who is
    /// about to remove what the journal does not have.
    fn confirm(&self) -> impl Future<Output = Result<(), JournalError>> {
        std::future::ready(Ok(()))
    }

    /// Whether what it does not have was not made by this cluster, as far as it can know.
    fn is_complete(&self) -> bool {
        true
    }

    /// Waits until nothing can be recorded any more, as when another slurmctld has taken the journal over:
    /// [`JournalError::is_final`].
    fn superseded(&self) -> impl Future<Output = JournalError> {
        std::future::pending()
    }
}

/// Why the journal could not be read or written, naming the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("journal {path}: cannot {doing}: {cause}")]
pub struct JournalError {
    path: String,
    doing: &'static str,
    cause: String,
    kind: Kind,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Something is not on record.
    Unwritten,
    /// It is not known who is in charge.
    Blind,
    /// Nothing can be recorded any more.
    Final,
}

impl JournalError {
    /// `doing` the file at `path` failed because of `cause`.
    pub fn new(path: &Path, doing: &'static str, cause: &dyn Display) -> Self {
        Self { path: path.display().to_string(), doing, cause: cause.to_string(), kind: Kind::Unwritten }
    }

    /// `who` has taken the journal at `path` over, in words: [`JournalError::is_final`].
    #[must_use]
    pub fn taken_over(path: &Path, who: &str) -> Self {
        Self { kind: Kind::Final, ..Self::new(path, "write it", &format!("{who} has taken it over")) }
    }

    /// What writes the journal at `path` broke: nothing that is done can be recorded any more.
    #[must_use]
    pub fn thread_ended(path: &Path) -> Self {
        Self { kind: Kind::Final, ..Self::new(path, "write it", &"its thread has ended") }
    }

    /// Nothing can be recorded any more, as when another slurmctld has taken over: whoever hears of this must
    /// do nothing.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.kind == Kind::Final
    }

    /// It could not be found out who has the journal at `path`.
    #[must_use]
    pub fn blind(path: &Path, cause: &dyn Display) -> Self {
        Self { kind: Kind::Blind, ..Self::new(path, "find out which slurmctld has it", cause) }
    }

    /// Another slurmctld may be in charge, for all that is known: whoever hears of this must remove nothing
    /// until it is known.
    #[must_use]
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
