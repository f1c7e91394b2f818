//! Everything outside the driver.

use std::future::Future;
use std::path::Path;

use ledger::{Claim, Event, HostAction, Millis};
use vipu_types::JobRun;

use crate::{Controller, Journal};

/// What the driver acts on and reports to.
pub trait Environment: 'static {
    /// How controllers are called.
    type Controller: Controller<Config = <Self::Files as Files>::Config>;
    /// Where intents are kept.
    type Journal: Journal;
    /// Where IPUoF files go.
    type Files: Files;

    /// The journal.
    fn journal(&self) -> &Self::Journal;

    /// The IPUoF files.
    fn files(&self) -> &Self::Files;

    /// The ledger's clock.
    fn now(&self) -> Millis;

    /// Says to who waits for this run how the making of its partition goes; must not wait.
    fn tell(&self, _run: JobRun, _line: String) {}

    /// Says the same to who asks squeue only; must not wait.
    fn show(&self, _run: JobRun, _line: String) {}

    /// Hands an event to the ledger; must not wait. Orders that follow from it may be sent from within.
    fn report(&self, event: Event);
}

/// Who carries out the ledger's actions on Slurm itself.
pub trait Host {
    /// Takes an action of the host thread; called from Slurm's callbacks, so it must not wait.
    fn send(&self, action: HostAction);
}

/// Writes and deletes IPUoF files. Directories may be on a network file system that hangs:
/// no call may block the driver's thread.
pub trait Files: 'static {
    /// What a controller says a task needs to know.
    type Config: 'static;

    /// Finds out whether files can be written to the directory.
    fn probe(&self, directory: &Path) -> impl Future<Output = Result<(), FilesError>>;

    /// Writes the files of a claim; they are durable, and readable by its user, when this returns.
    /// When it fails, it has taken back what it wrote.
    fn deliver(
        &self,
        directory: &Path,
        claim: &Claim,
        config: Self::Config,
    ) -> impl Future<Output = Result<(), FilesError>>;

    /// Deletes the files of a claim, however many there are; `Ok` when there were none. A directory that is
    /// away is an error, also when there is another in its place: an empty mount point.
    fn withdraw(&self, directory: &Path, claim: &Claim) -> impl Future<Output = Result<(), FilesError>>;
}

/// Why IPUoF files could not be written or deleted, naming the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilesError(pub String);
