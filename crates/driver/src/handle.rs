//! The queue of orders to the driver, for any thread.

use ledger::{Action, Claim, DriverAction, EndedRun, Seconds};
use tokio::sync::mpsc;

use crate::{Host, PodSetup};

/// An order to the driver.
pub(crate) enum Order<C> {
    Do(DriverAction),
    Pods(Vec<PodSetup<C>>),
    Launched(Claim, Seconds),
    Ended(Claim, EndedRun),
}

/// Sends orders to a driver and never waits. Orders to a driver that has ended are lost.
pub struct Handle<C>(mpsc::UnboundedSender<Order<C>>);

/// The receiving end of a [`Handle`], for [`crate::Driver::run`].
pub struct Orders<C>(pub(crate) mpsc::UnboundedReceiver<Order<C>>);

/// Makes a handle and the receiver of its orders.
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
    /// Replaces all Pods. Work under way goes on with the old settings. Surveys, and removals that are tried
    /// again, use the new settings. A claim stays with its controller, even if the controller has left its
    /// model's list.
    pub fn configure(&self, pods: Vec<PodSetup<C>>) {
        self.send(Order::Pods(pods));
    }

    /// Hands each action to its executor: the driver behind this handle, or `host`.
    pub fn route(&self, actions: impl IntoIterator<Item = Action>, host: &impl Host) {
        for action in actions {
            match action {
                Action::Driver(action) => self.send(Order::Do(action)),
                Action::Host(action) => host.send(action),
            }
        }
    }

    /// Records for a later slurmctld that the batch script of this run was launched at this time.
    pub fn launched(&self, claim: Claim, at: Seconds) {
        self.send(Order::Launched(claim, at));
    }

    /// Records for a later slurmctld that the run of a batch job has ended on this claim's partition.
    pub fn ended(&self, claim: Claim, ended: EndedRun) {
        self.send(Order::Ended(claim, ended));
    }

    fn send(&self, order: Order<C>) {
        // A send fails only after the driver has ended. Then slurmctld is ending, and the journal knows the
        // rest.
        let _ = self.0.send(order);
    }
}
