//! The real files: [`ipuof::IpuofDir`], on the runtime's blocking pool.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Once;

use ipuof::{Access, Error, IpuofDir, file_name};
use ledger::Claim;
use tokio::task::spawn_blocking;
use tracing::warn;
use vipu_types::Gcd;

use crate::{Files, FilesError};

/// Writes IPUoF files into a directory that all nodes share.
///
/// A file system that hangs holds up a thread of the blocking pool, and who waits for that file.
#[derive(Clone, Copy, Debug, Default)]
pub struct IpuofFiles;

impl Files for IpuofFiles {
    type Config = Vec<Gcd>;

    async fn deliver(&self, directory: &Path, claim: &Claim, config: Vec<Gcd>) -> Result<(), FilesError> {
        blocking(directory, claim, move |directory, claim| {
            let open = IpuofDir::open(directory)?;
            let published = open.publish(&claim.partition, &config, claim.user);
            if published.is_err() {
                // The error that matters is the one at hand.
                let _ = remove(&open, directory, claim);
            }
            published.map(|access| {
                if access == Access::WorldReadable {
                    warn_once(directory);
                }
            })
        })
        .await
    }

    async fn withdraw(&self, directory: &Path, claim: &Claim) -> Result<(), FilesError> {
        blocking(directory, claim, |directory, claim| match IpuofDir::open(directory) {
            Ok(open) => remove(&open, directory, claim),
            // No directory, no files.
            Err(Error::Refused { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        })
        .await
    }
}

/// More than any partition has.
const MOST_GCDS: u32 = 1 << 20;

/// Removes the files of a partition: the one it has with one GCD, and those it has with several. The claim's size does
/// not matter: they may be those of an earlier job of this id.
fn remove(open: &IpuofDir, directory: &Path, Claim { partition, .. }: &Claim) -> Result<(), Error> {
    open.remove(partition, 1)?;
    // They are written in order, and one more may have been begun.
    let is_there = |gcd: &u32| directory.join(file_name(partition, *gcd, 2)).symlink_metadata().is_ok();
    let last = (0..MOST_GCDS).take_while(is_there).last();
    open.remove(partition, last.map_or(2, |gcd| gcd + 2))
}

/// Says that files are not kept to their users, once per process: it is so for every file there.
fn warn_once(directory: &Path) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        warn!(
            "{} has no POSIX ACLs: every user can read every IPUoF file in it (mode 0644); \
             put IpuofDir on a file system with ACLs to keep each file to its job's user",
            directory.display()
        );
    });
}

async fn blocking(
    directory: &Path,
    claim: &Claim,
    work: impl FnOnce(&Path, &Claim) -> Result<(), Error> + Send + 'static,
) -> Result<(), FilesError> {
    let (directory, claim) = (directory.to_path_buf(), claim.clone());
    let work = move || {
        failpoints::io!("IPUoF files");
        work(&directory, &claim)
    };
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| FilesError(error.to_string())),
        Err(broken) => Err(FilesError(broken.to_string())),
    }
}

#[cfg(test)]
#[path = "ipuof_files_tests.rs"]
mod tests;
