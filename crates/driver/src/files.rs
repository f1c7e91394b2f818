//! The IPUoF files of a claim.

use std::future::Future;
use std::path::Path;

use ledger::Claim;

/// Writes and deletes IPUoF files. Directories may be on a network file system that hangs:
/// no call may block the driver's thread.
pub trait Files: 'static {
    /// What a controller says a task needs to know.
    type Config: 'static;

    /// Writes the files of a claim; they are durable, and readable by its user, when this returns.
    /// When it fails, it has taken back what it wrote.
    fn deliver(
        &self,
        directory: &Path,
        claim: &Claim,
        config: Self::Config,
    ) -> impl Future<Output = Result<(), FilesError>>;

    /// Deletes the files of a claim, however many there are; `Ok` when there were none.
    fn withdraw(&self, directory: &Path, claim: &Claim) -> impl Future<Output = Result<(), FilesError>>;
}

/// Why IPUoF files could not be written or deleted, naming the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilesError(pub String);
