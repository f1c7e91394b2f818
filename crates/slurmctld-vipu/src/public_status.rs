//! The status document for all users, in StatusDir.
//!
//! Each directory has a thread of its own, so that a file server that hangs stops no other document. If
//! PrivateData hides jobs, the document names no owner, and each user has a file with his own jobs beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{fs, io};

use ipuof::{IpuofDir, Readers};
use slurm_host::{boundary, threads};
use tracing::{error, info};
use vipu_status::{Status, file_names};

use crate::earlier_requests;

/// The documents of one moment.
struct Documents {
    /// The document for all users. It becomes a text only in its files.
    all: Status,
    /// The text for each user that has jobs. Empty if the document names the owners.
    own_jobs: BTreeMap<u32, Vec<u8>>,
}

impl Documents {
    fn of(status: Status, hides_owners: bool) -> serde_json::Result<Self> {
        if !hides_owners {
            return Ok(Self { all: status, own_jobs: BTreeMap::new() });
        }
        let own_jobs = status.by_user().into_iter().map(|(user, own)| Ok((user, serde_json::to_vec(&own)?)));
        let own_jobs = own_jobs.collect::<serde_json::Result<_>>()?;
        Ok(Self { all: status.without_owners(), own_jobs })
    }
}

/// The threads, by directory.
#[derive(Default)]
pub(crate) struct PublicStatus {
    writers: BTreeMap<PathBuf, SyncSender<Arc<Documents>>>,
}

impl PublicStatus {
    /// Whether no directory gets the document, and none had it. Then it need not be made.
    pub(crate) fn is_unwanted(&self, dirs: &BTreeSet<PathBuf>) -> bool {
        dirs.is_empty() && self.writers.is_empty()
    }

    /// Has the document written to these directories. Never waits: a directory that is behind misses this
    /// document.
    pub(crate) fn publish(&mut self, dirs: &BTreeSet<PathBuf>, status: Status, hides_owners: bool) {
        // A thread ends with its queue.
        self.writers.retain(|dir, _| dirs.contains(dir));
        for dir in dirs {
            if !self.writers.contains_key(dir)
                && let Some(queue) = start(dir.clone(), &status.writer.cluster)
            {
                self.writers.insert(dir.clone(), queue);
            }
        }
        match Documents::of(status, hides_owners) {
            Ok(documents) => {
                let documents = Arc::new(documents);
                self.writers.values().for_each(|queue| drop(queue.try_send(Arc::clone(&documents))));
            }
            Err(why) => error!("cannot write the status for all users: {why}"),
        }
    }
}

fn start(dir: PathBuf, cluster: &str) -> Option<SyncSender<Arc<Documents>>> {
    earlier_requests::remove(&dir, cluster);
    let (queue, documents) = sync_channel(1);
    let writer = Writer { cluster: cluster.to_owned(), own_jobs: BTreeMap::new(), is_failing: false, dir };
    match threads::spawn("vipu-public", move || serve(&documents, writer)) {
        Ok(()) => Some(queue),
        Err(why) => {
            error!("{why}: svipu has no status for all users");
            None
        }
    }
}

/// Writes what comes, until the queue is over.
fn serve(queue: &Receiver<Arc<Documents>>, mut writer: Writer) {
    writer.own_jobs = left_behind(&writer.dir, &writer.cluster);
    for documents in queue {
        writer.replace(&documents);
    }
}

/// Writes the files in one directory.
struct Writer {
    dir: PathBuf,
    cluster: String,
    /// The texts of users that are in the directory. Empty if only the name is known.
    own_jobs: BTreeMap<u32, Vec<u8>>,
    is_failing: bool,
}

impl Writer {
    fn replace(&mut self, documents: &Documents) {
        let mut write = || boundary::guard(&|| "vipu-public".into(), Ok(()), || self.write(documents));
        // A slurmctld that gives up control may write its last document at this moment, under the same temporary name.
        let written = write().or_else(|_| write());
        match &written {
            Ok(()) if self.is_failing => {
                info!("{}: the status for all users is written again", self.dir.display())
            }
            Err(why) if !self.is_failing => {
                error!("StatusDir: {why}; mend that: svipu shows users no state, or an old one, until then")
            }
            _ => {}
        }
        self.is_failing = written.is_err();
    }

    fn write(&mut self, documents: &Documents) -> Result<(), ipuof::Error> {
        // Another file system may have been mounted there since.
        let dir = IpuofDir::open(&self.dir)?;
        let write = |to: &mut dyn io::Write| Ok(documents.all.write_json(to)?);
        dir.write(&file_names::public(&self.cluster), write, Readers::Everyone)?;
        let users: BTreeSet<u32> = self.own_jobs.keys().chain(documents.own_jobs.keys()).copied().collect();
        // A file that cannot be written costs no other user his own.
        let results: Vec<_> = users
            .into_iter()
            .map(|user| self.write_own_jobs(&dir, user, documents.own_jobs.get(&user)))
            .collect();
        results.into_iter().collect()
    }

    /// Writes the file of a user, or removes it from a user without jobs.
    fn write_own_jobs(
        &mut self,
        dir: &IpuofDir,
        user: u32,
        text: Option<&Vec<u8>>,
    ) -> Result<(), ipuof::Error> {
        let name = file_names::own_jobs(&self.cluster, user);
        let Some(text) = text else {
            dir.remove_file(&name)?;
            self.own_jobs.remove(&user);
            return Ok(());
        };
        if self.own_jobs.get(&user) != Some(text) {
            dir.write(&name, |to| to.write_all(text), Readers::Only(user))?;
            self.own_jobs.insert(user, text.clone());
        }
        Ok(())
    }
}

/// The users whose files an earlier slurmctld has left in the directory.
fn left_behind(dir: &Path, cluster: &str) -> BTreeMap<u32, Vec<u8>> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let user = |name: &str| file_names::user_of(name, cluster);
    entries.filter_map(|entry| Some((user(entry.file_name().to_str()?)?, Vec::new()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_status_file_that_cannot_be_written_costs_no_other_user_his_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = |user| dir.path().join(file_names::own_jobs("c", user));
        fs::create_dir_all(path(1000).join("in the way")).unwrap();
        let mut writer = Writer {
            dir: dir.path().to_owned(),
            cluster: "c".into(),
            own_jobs: [(1002, Vec::new())].into(),
            is_failing: false,
        };
        fs::write(path(1002), "left behind").unwrap();
        let own_jobs = [(1000, b"a".to_vec()), (1001, b"b".to_vec())].into();
        let failed = writer.write(&Documents { all: Status::default(), own_jobs }).unwrap_err();
        assert!(failed.to_string().contains("vipu_own_jobs.c.1000.json"), "{failed}");
        assert_eq!(fs::read(path(1001)).unwrap(), b"b");
        assert!(!path(1002).exists(), "the file of a user without jobs");
    }
}
