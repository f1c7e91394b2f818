//! Everything outside the driver.

use ledger::{Action, Event, Millis};
use vipu_types::JobRun;

use crate::{Controller, Files, Journal};

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
    /// Takes an action that is not the driver's; called from Slurm's callbacks, so it must not wait.
    fn send(&self, action: Action);
}
