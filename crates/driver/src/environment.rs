//! The driver's surroundings, as traits.

use std::future::Future;
use std::path::Path;

use ledger::{Claim, Event, HostAction, Millis, Seconds};
use vipu_types::{JobRun, Reason, Words};

use crate::{Controller, Journal};

/// The interfaces on which the driver acts and to which it reports.
pub trait Environment: 'static {
    /// The controllers.
    type Controller: Controller<Config = <Self::Files as Files>::Config>;
    /// The journal of intents.
    type Journal: Journal;
    /// The IPUoF files.
    type Files: Files;

    /// The journal.
    fn journal(&self) -> &Self::Journal;

    /// The IPUoF files.
    fn files(&self) -> &Self::Files;

    /// The ledger's clock.
    fn now(&self) -> Millis;

    /// The clock of times that outlive slurmctld.
    fn unix_time(&self) -> Seconds;

    /// Tells the users who wait for this run how its create goes. Must not wait.
    fn tell(&self, _run: JobRun, _progress: Reason) {}

    /// Shows this in squeue only. Must not wait.
    fn show(&self, _run: JobRun, _progress: Reason) {}

    /// Hands an event to the ledger. Must not wait. The call may send orders that follow from the event.
    fn report(&self, event: Event);
}

/// The executor of the ledger's actions on Slurm itself.
pub trait Host {
    /// Takes an action of the host thread. Slurm's callbacks call this, so it must not wait.
    fn send(&self, action: HostAction);
}

/// Writes and deletes IPUoF files. A directory may be on a network file system that hangs, so no call may
/// block the driver's thread. Errors name the file.
pub trait Files: 'static {
    /// The controller's data for tasks.
    type Config: 'static;

    /// Tests whether files can be written to the directory.
    fn probe(&self, directory: &Path) -> impl Future<Output = Result<(), Words>>;

    /// Writes the files of a claim. When this returns, they are readable by the claim's user, but may not
    /// outlive a crash of this host. After a failure, none of the written files is left.
    fn deliver(
        &self,
        directory: &Path,
        claim: &Claim,
        config: Self::Config,
    ) -> impl Future<Output = Result<(), Words>>;

    /// Makes the files of a claim durable.
    fn flush(&self, directory: &Path, claim: &Claim) -> impl Future<Output = Result<(), Words>>;

    /// Deletes the files of a claim, however many there are. `Ok` if there were none. A directory that is
    /// away is an error, also if another one is in its place, for example an empty mount point.
    fn withdraw(&self, directory: &Path, claim: &Claim) -> impl Future<Output = Result<(), Words>>;
}
