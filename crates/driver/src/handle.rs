//! The way into the driver, for any thread.

use ledger::{Action, Claim, Seconds, SeenPartition};
use tokio::sync::mpsc;
use vipu_types::{PartitionId, PodId};

use crate::{Host, PodSetup};

/// What the driver can be told.
pub(crate) enum Order<C> {
    Pods(Vec<PodSetup<C>>),
    Create(Claim),
    CancelCreate(PartitionId),
    Remove(Claim),
    Survey(PodId),
    Unclaimed(PodId, SeenPartition),
    Refresh(Claim),
    Bind(Claim),
    Keep(Claim, Seconds),
    Launched(Claim, Seconds),
}

/// Sends orders to a driver; never waits. When the driver has ended, orders are lost with it.
pub struct Handle<C>(mpsc::UnboundedSender<Order<C>>);

/// The other end of a [`Handle`], for [`crate::Driver::run`].
pub struct Orders<C>(pub(crate) mpsc::UnboundedReceiver<Order<C>>);

/// Makes a handle and what a driver reads from it.
#[must_use]
pub fn channel<C>() -> (Handle<C>, Orders<C>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Handle(sender), Orders(receiver))
}

impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> Handle<C> {
    /// Replaces all Pods. What is under way goes on as it began; a remove that has to be tried
    /// again, and every survey, uses the new settings. A claim stays with its controller, also when
    /// that one is not among its model's any more.
    pub fn configure(&self, pods: Vec<PodSetup<C>>) {
        self.send(Order::Pods(pods));
    }

    /// Hands each action to who carries it out: the driver behind this handle, or `host`.
    pub fn route(&self, actions: impl IntoIterator<Item = Action>, host: &impl Host) {
        for action in actions {
            match action {
                Action::Create(claim) => self.send(Order::Create(claim)),
                Action::CancelCreate(partition) => self.send(Order::CancelCreate(partition)),
                Action::Remove(claim) => self.send(Order::Remove(claim)),
                Action::Bind(claim) => self.send(Order::Bind(claim)),
                Action::Keep(claim, until) => {
                    self.send(Order::Keep(claim.clone(), until));
                    host.send(Action::Keep(claim, until));
                }
                Action::Survey(pod) => self.send(Order::Survey(pod)),
                Action::Unclaimed { pod, seen } => self.send(Order::Unclaimed(pod, seen)),
                Action::Relocated(claim) => {
                    self.send(Order::Refresh(claim.clone()));
                    host.send(Action::Relocated(claim));
                }
                Action::OpenLaunch(..)
                | Action::FailRun(..)
                | Action::SendBack(..)
                | Action::AwaitNodes(..)
                | Action::OpenCompletion { .. }
                | Action::DropLaunch(..)
                | Action::Broken(..)
                | Action::KickScheduler => host.send(action),
            }
        }
    }

    /// The batch script of this run was launched then: a later slurmctld is to know.
    pub fn launched(&self, claim: Claim, at: Seconds) {
        self.send(Order::Launched(claim, at));
    }

    fn send(&self, order: Order<C>) {
        // Fails only when the driver is gone: slurmctld is ending, and the journal knows the rest.
        let _ = self.0.send(order);
    }
}
