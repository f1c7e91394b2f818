//! StateSaveLocation and IpuofDir: the journal and the IPUoF files, on disks that fail.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use driver::{Entry, Files, Journal, JournalError, LiveRecord, journal};
use ledger::{Claim, EndedRun};
use rand::RngExt;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;
use vipu_types::{JobRun, PartitionId, Words};

use crate::cluster::Cluster;
use crate::controller::Tag;

/// The longest time until a superseded slurmctld notices it.
const LOOK: Duration = Duration::from_secs(5);

/// The longest time until a written file is on disk.
const FLUSH: Duration = Duration::from_secs(5);

/// The end of a channel to the task that waits until an entry is written.
type Waiting = oneshot::Sender<Result<(), JournalError>>;

/// The journal's file.
#[derive(Default)]
pub struct Disk {
    /// The entries that a new reader reads.
    durable: RefCell<Vec<Entry>>,
    /// Entries under way to `durable`, with the task that waits for each, in the order of the calls.
    pending: RefCell<Vec<(Entry, Option<Waiting>)>>,
    /// The partitions that `durable` has open.
    open: RefCell<BTreeMap<PartitionId, JobRun>>,
    /// The slurmctld that opened it last.
    owner: watch::Sender<u32>,
    /// Whether nothing can be written.
    pub full: Cell<bool>,
    flush_is_due: Cell<bool>,
}

impl Disk {
    /// The run for which a partition is on record.
    pub fn on_record(&self, partition: &PartitionId) -> Option<JobRun> {
        self.open.borrow().get(partition).copied()
    }

    /// Whether a partition is on record, or is about to be.
    pub fn knows(&self, partition: &PartitionId) -> bool {
        let about = |entry: &Entry| match entry {
            Entry::Create { claim, .. } | Entry::Remove { claim, .. } | Entry::Withheld { claim, .. } => {
                claim.partition == *partition
            }
            Entry::Created(_)
            | Entry::Launched { .. }
            | Entry::Ended { .. }
            | Entry::Kept { .. }
            | Entry::Gone(_) => false,
        };
        self.on_record(partition).is_some() || self.pending.borrow().iter().any(|(entry, _)| about(entry))
    }

    /// The partitions on record, for messages.
    pub fn open_entries(&self) -> Vec<String> {
        self.open.borrow().keys().map(PartitionId::to_string).collect()
    }

    /// Kills the writer. The first `written` of its unacknowledged entries are written.
    pub fn crash(&self, written: usize) {
        for (number, (entry, _)) in self.pending.take().into_iter().enumerate() {
            if number < written && !self.full.get() {
                self.write(entry);
            }
        }
    }

    /// The number of entries under way.
    pub fn underway(&self) -> usize {
        self.pending.borrow().len()
    }

    /// Gives the journal to a slurmctld. Returns the records and the ended runs that it reads.
    pub fn open(&self, term: u32) -> (Vec<LiveRecord>, Vec<EndedRun>) {
        self.owner.send_replace(term);
        for (_, waiting) in self.pending.take() {
            waiting.map(|waiting| waiting.send(Err(taken_over())));
        }
        journal::replay(self.durable.borrow().iter().cloned())
    }

    fn write(&self, entry: Entry) {
        let mut open = self.open.borrow_mut();
        match &entry {
            Entry::Create { claim, .. } => drop(open.insert(claim.partition.clone(), claim.run)),
            Entry::Remove { claim, .. } | Entry::Withheld { claim, .. } => {
                open.entry(claim.partition.clone()).or_insert(claim.run);
            }
            Entry::Created(_) | Entry::Launched { .. } | Entry::Ended { .. } | Entry::Kept { .. } => {}
            Entry::Gone(id) => drop(open.remove(id)),
        }
        self.durable.borrow_mut().push(entry);
    }

    /// Writes the entries under way. Entries that cannot be written now are written with the next ones.
    fn flush(&self) {
        self.flush_is_due.set(false);
        let mut kept = Vec::new();
        for (entry, waiting) in self.pending.take() {
            let result = if self.full.get() {
                kept.push((entry, None));
                Err(no_space())
            } else {
                self.write(entry);
                Ok(())
            };
            waiting.map(|waiting| waiting.send(result));
        }
        self.pending.replace(kept);
    }
}

/// The error text of all full disks.
pub const NO_SPACE: &str = "no space left on device";

fn no_space() -> JournalError {
    JournalError::new(Path::new("journal"), "write it", &NO_SPACE)
}

fn taken_over() -> JournalError {
    JournalError::taken_over(Path::new("journal"), "another slurmctld")
}

/// The journal, opened by one slurmctld.
pub struct Notes {
    pub cluster: Rc<Cluster>,
    pub term: u32,
}

impl Journal for Notes {
    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        let disk = &self.cluster.disk;
        if *disk.owner.borrow() != self.term {
            return Err(taken_over());
        }
        let (done, written) = oneshot::channel();
        disk.pending.borrow_mut().push((entry, Some(done)));
        if !disk.flush_is_due.replace(true) {
            let (cluster, time) = (Rc::clone(&self.cluster), self.cluster.up_to(Duration::from_millis(20)));
            self.cluster.outside(async move {
                sleep(time).await;
                cluster.disk.flush();
            });
        }
        // The writer is killed only together with the task that waits here.
        written.await.unwrap_or_else(|_| Err(taken_over()))
    }

    async fn confirm(&self) -> Result<(), JournalError> {
        let disk = &self.cluster.disk;
        match *disk.owner.borrow() == self.term {
            true if disk.full.get() => Err(no_space()),
            true => Ok(()),
            false => Err(taken_over()),
        }
    }

    async fn superseded(&self) -> JournalError {
        let mut owner = self.cluster.disk.owner.subscribe();
        // The sender lives as long as the cluster.
        let _ = owner.wait_for(|owner| *owner != self.term).await;
        sleep(self.cluster.up_to(LOOK)).await;
        taken_over()
    }
}

/// The directory and the partition of a file.
type Place = (PathBuf, PartitionId);

/// IpuofDir: the partition that each file describes.
#[derive(Default)]
pub struct Shelf {
    there: RefCell<BTreeMap<Place, Tag>>,
    /// The files that a crash of slurmctld's host would take away.
    unflushed: RefCell<BTreeSet<Place>>,
    /// Whether nothing can be written or deleted.
    pub refuses: Cell<bool>,
}

impl Shelf {
    /// The partition that a file describes.
    pub fn file(&self, directory: &Path, partition: &PartitionId) -> Option<Tag> {
        self.there.borrow().get(&(directory.to_owned(), partition.clone())).copied()
    }

    /// Crashes the host that has written the files. Returns the number of files that are lost.
    pub fn crash(&self) -> usize {
        let lost = self.unflushed.take();
        self.there.borrow_mut().retain(|place, _| !lost.contains(place));
        lost.len()
    }

    /// The files that exist.
    pub fn files(&self) -> Vec<String> {
        self.there.borrow().keys().map(|(directory, id)| format!("{}/{id}", directory.display())).collect()
    }
}

/// The files, reached by one slurmctld.
pub struct Hands(pub Rc<Cluster>);

impl Hands {
    async fn reach(&self) -> Result<(), Words> {
        if self.0.chance(0.3) {
            sleep(self.0.up_to(Duration::from_millis(30))).await;
        }
        match self.0.shelf.refuses.get() {
            true => Err(NO_SPACE.into()),
            false => Ok(()),
        }
    }
}

impl Files for Hands {
    type Config = Tag;

    async fn probe(&self, _: &Path) -> Result<(), Words> {
        self.reach().await
    }

    async fn deliver(&self, directory: &Path, claim: &Claim, config: Tag) -> Result<(), Words> {
        self.reach().await?;
        let place = (directory.to_owned(), claim.partition.clone());
        self.0.shelf.unflushed.borrow_mut().insert(place.clone());
        self.0.shelf.there.borrow_mut().insert(place, config);
        if self.0.random.borrow_mut().random_bool(0.3) {
            // The file is there before the caller hears of it.
            sleep(self.0.up_to(Duration::from_millis(30))).await;
        }
        Ok(())
    }

    async fn flush(&self, directory: &Path, claim: &Claim) -> Result<(), Words> {
        sleep(self.0.up_to(FLUSH)).await;
        self.reach().await?;
        self.0.shelf.unflushed.borrow_mut().remove(&(directory.to_owned(), claim.partition.clone()));
        Ok(())
    }

    async fn withdraw(&self, directory: &Path, claim: &Claim) -> Result<(), Words> {
        self.reach().await?;
        self.0.shelf.unflushed.borrow_mut().remove(&(directory.to_owned(), claim.partition.clone()));
        self.0.shelf.there.borrow_mut().remove(&(directory.to_owned(), claim.partition.clone()));
        Ok(())
    }
}
