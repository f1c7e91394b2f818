//! The IPUoF files on disk: [`ipuof::IpuofDir`], on the runtime's blocking pool.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};

use ipuof::{Access, Error, IpuofDir, file_name};
use ledger::Claim;
use tracing::warn;
use vipu_client::BoundedThreads;
use vipu_types::{Gcd, Words};

use crate::Files;
use crate::directory_identity::{DirectoryIdentities, NotUsable};

/// Writes IPUoF files into a directory that all nodes share.
///
/// A file system that hangs holds up [`MOST_THREADS`] threads and the tasks that wait for its files.
#[derive(Clone, Debug)]
pub struct IpuofFiles {
    identities: Arc<DirectoryIdentities>,
    threads: Arc<Mutex<HashMap<PathBuf, BoundedThreads>>>,
}

/// The most threads that work on one directory.
const MOST_THREADS: usize = 32;

impl IpuofFiles {
    /// The files of a cluster. `memory` remembers the directories with files. If it does not exist yet, the
    /// directories `used` may have some. Blocks on the file system.
    pub fn new(cluster: &str, memory: Option<PathBuf>, used: impl IntoIterator<Item = PathBuf>) -> Self {
        let identities = Arc::new(DirectoryIdentities::new(cluster, memory, used));
        Self { identities, threads: Arc::default() }
    }

    async fn blocking(
        &self,
        directory: &Path,
        work: impl FnOnce(&Path, &DirectoryIdentities) -> Result<(), NotUsable> + Send + 'static,
    ) -> Result<(), Words> {
        let threads = {
            let mut all = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(directory.to_path_buf()).or_insert_with(|| BoundedThreads::new(MOST_THREADS)).clone()
        };
        let (directory, marks) = (directory.to_path_buf(), Arc::clone(&self.identities));
        let work = move || {
            failpoints::io!("IPUoF files");
            work(&directory, &marks)
        };
        match threads.run(work).await {
            Ok(done) => done.map_err(Words::of),
            Err(broken) => Err(Words::of(broken)),
        }
    }
}

impl Files for IpuofFiles {
    type Config = Vec<Gcd>;

    async fn probe(&self, directory: &Path) -> Result<(), Words> {
        self.blocking(directory, |directory, marks| Ok(marks.open(directory)?.probe().map(drop)?)).await
    }

    async fn deliver(&self, directory: &Path, claim: &Claim, config: Vec<Gcd>) -> Result<(), Words> {
        let claim = claim.clone();
        self.blocking(directory, move |directory, marks| {
            let open = marks.open(directory)?;
            let were_there = has_files(directory, &claim);
            let published = open.publish(&claim.partition, &config, claim.user);
            if published.is_err() && !were_there {
                // The caller needs the error of the write, not that of the cleanup. Files of a running job stay: each
                // is replaced as a whole.
                let _ = remove(&open, directory, &claim);
            }
            if published? == Access::WorldReadable {
                warn_once(directory);
            }
            Ok(())
        })
        .await
    }

    async fn flush(&self, directory: &Path, claim: &Claim) -> Result<(), Words> {
        let claim = claim.clone();
        self.blocking(directory, move |directory, marks| {
            let gcds = written(directory, &claim).map_or(1, |several| several.max(2));
            Ok(marks.open(directory)?.flush(&claim.partition, gcds)?)
        })
        .await
    }

    async fn withdraw(&self, directory: &Path, claim: &Claim) -> Result<(), Words> {
        let claim = claim.clone();
        self.blocking(directory, move |directory, marks| match marks.open_used(directory)? {
            Some(open) => Ok(remove(&open, directory, &claim)?),
            None => Ok(()),
        })
        .await
    }
}

/// A bound above the number of GCDs of any partition.
const MOST_GCDS: u32 = 1 << 20;

/// Removes the files of a partition, those for one GCD and those for several. The claim's size does not
/// matter, because the files may be those of an earlier job of this id.
fn remove(open: &IpuofDir, directory: &Path, claim: &Claim) -> Result<(), Error> {
    open.remove(&claim.partition, 1)?;
    // Files are written in order, and one more may have been begun.
    open.remove(&claim.partition, written(directory, claim).map_or(2, |several| several + 1))
}

/// Whether a partition has any file.
fn has_files(directory: &Path, claim: &Claim) -> bool {
    let of_one = directory.join(file_name(&claim.partition, 0, 1)).symlink_metadata().is_ok();
    of_one || written(directory, claim).is_some()
}

/// The number of files that a partition with several GCDs has.
fn written(directory: &Path, Claim { partition, .. }: &Claim) -> Option<u32> {
    let is_there = |gcd: &u32| directory.join(file_name(partition, *gcd, 2)).symlink_metadata().is_ok();
    (0..MOST_GCDS).take_while(is_there).last().map(|gcd| gcd + 1)
}

/// Warns once per process that every user can read the files. This is true of every file in the directory.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use vipu_types::{Device, IpuCount};

    use super::*;
    use crate::test_claim;

    fn claim(size: u64) -> Claim {
        Claim { user: own_uid(), size: IpuCount::new(size).unwrap(), ..test_claim::claim(1) }
    }

    /// The user of the test process. Giving a file to oneself needs no privilege.
    fn own_uid() -> u32 {
        use std::os::unix::fs::MetadataExt;
        tempfile::tempfile().unwrap().metadata().unwrap().uid()
    }

    fn gcds(count: usize) -> Vec<Gcd> {
        vec![Gcd { devices: vec![Device::default()], ..Gcd::default() }; count]
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Files without a memory.
    fn files() -> IpuofFiles {
        IpuofFiles::new("a", None, [])
    }

    #[tokio::test]
    async fn all_files_of_a_partition_go_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        files().probe(dir.path()).await.unwrap();
        for others in ["slurm_10.conf", "slurm_1_gcd.conf", "slurm_1x_gcd0.conf"] {
            fs::write(dir.path().join(others), "").unwrap();
        }
        let before = names(dir.path());
        for (size, count) in [(1, 1), (64, 1), (256, 4), (16, 16)] {
            let files = files();
            files.deliver(dir.path(), &claim(size), gcds(count)).await.unwrap();
            assert_eq!(names(dir.path()).len(), before.len() + count);
            files.flush(dir.path(), &claim(size)).await.unwrap();
            files.withdraw(dir.path(), &claim(size)).await.unwrap();
            assert_eq!(names(dir.path()), before, "{size} IPUs, {count} GCDs");
        }
    }

    #[tokio::test]
    async fn a_flush_misses_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let files = files();
        files.deliver(dir.path(), &claim(1), gcds(1)).await.unwrap();
        fs::remove_file(dir.path().join("slurm_1.conf")).unwrap();
        let error = files.flush(dir.path(), &claim(1)).await.unwrap_err().to_string();
        assert!(error.contains("slurm_1.conf"), "{error}");
    }

    #[tokio::test]
    async fn a_failed_delivery_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        // A directory takes the name of the third file.
        fs::create_dir(dir.path().join("slurm_1_gcd2.conf")).unwrap();
        let error = files().deliver(dir.path(), &claim(4), gcds(4)).await.unwrap_err().to_string();
        assert!(error.contains("slurm_1_gcd2.conf"), "{error}");
        assert_eq!(names(dir.path()), [".vipu_a", "slurm_1_gcd2.conf"]);
        assert_eq!(files().withdraw(&dir.path().join("missing"), &claim(4)).await, Ok(()));
    }
}
