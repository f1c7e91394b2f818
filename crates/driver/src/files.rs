//! The IPUoF files of a claim.

use std::future::Future;
use std::path::Path;

use ledger::Claim;

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

    /// Deletes the files of a claim, however many there are; `Ok` when there were none. A directory that is away is an
    /// error, also when there is another in its place: an empty mount point.
    fn withdraw(&self, directory: &Path, claim: &Claim) -> impl Future<Output = Result<(), FilesError>>;
}

/// Why IPUoF files could not be written or deleted, naming the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilesError(pub String);
