//! The way into the driver, for any thread.

use ledger::{Action, Claim, DriverAction, Seconds};
use tokio::sync::mpsc;

use crate::{Host, PodSetup};

/// What the driver can be told.
pub(crate) enum Order<C> {
    Do(DriverAction),
    Pods(Vec<PodSetup<C>>),
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
                Action::Driver(action) => self.send(Order::Do(action)),
                Action::Host(action) => host.send(action),
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
