//! The loop that takes orders and starts a task for each.

use std::rc::Rc;

use ledger::{Claim, Event};
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;

use crate::faults::see_through;
use crate::handle::Order;
use crate::lane::Owner;
use crate::shop::Shop;
use crate::{
    Entry, Journal, JournalError, LiveRecord, Orders, World, bind, create, keep, launched, refresh, remove,
    unclaimed,
};

/// Carries out orders; see [`Driver::run`].
pub struct Driver<W: World>(Rc<Shop<W>>);

impl<W: World> Driver<W> {
    /// A driver that knows the partitions `live`, as the journal of an earlier one had them.
    ///
    /// Knowing is all: what becomes of them, the ledger says.
    #[must_use]
    pub fn new(world: W, live: Vec<LiveRecord>) -> Self {
        Self(Rc::new(Shop::new(world, live)))
    }

    /// Carries out orders until every [`crate::Handle`] is dropped; whatever is under way then, or when
    /// this future is dropped, is left as the journal has it.
    ///
    /// # Errors
    /// When the journal says that another slurmctld has taken over; at once, whatever is under way.
    ///
    /// Needs a tokio runtime with time, and whatever the controllers need; meant for a current-thread one.
    pub async fn run(self, mut orders: Orders<W::Controller>) -> Result<(), JournalError> {
        let tasks = LocalSet::new();
        let work = async {
            while let Some(order) = orders.0.recv().await {
                self.take(order);
            }
        };
        tokio::select! {
            biased;
            by_another = self.0.world.journal().superseded() => Err(by_another),
            () = tasks.run_until(work) => Ok(()),
        }
    }

    fn take(&self, order: Order<W::Controller>) {
        let shop = &self.0;
        match order {
            Order::Pods(setups) => shop.configure(setups),
            Order::Create(claim) => self.create(claim),
            Order::CancelCreate(partition) => {
                if let Some(lane) = shop.known_lane(&partition) {
                    lane.cancel.borrow().cancel();
                }
            }
            Order::Remove(claim) => self.remove(claim),
            Order::Bind(claim) => {
                let (shop, lane) = (Rc::clone(shop), shop.lane(&claim.partition));
                spawn_local(see_through(claim.partition.clone(), move || {
                    bind::bind(Rc::clone(&shop), Rc::clone(&lane), claim.clone())
                }));
            }
            Order::Launched(claim, at) => {
                let (shop, lane) = (Rc::clone(shop), shop.lane(&claim.partition));
                spawn_local(see_through(claim.partition.clone(), move || {
                    launched::launched(Rc::clone(&shop), Rc::clone(&lane), claim.clone(), at)
                }));
            }
            Order::Keep(claim, until) => {
                let (shop, lane) = (Rc::clone(shop), shop.lane(&claim.partition));
                spawn_local(async move {
                    let task = || keep::keep(Rc::clone(&shop), Rc::clone(&lane), claim.clone(), until);
                    see_through(claim.partition.clone(), task).await;
                    shop.world.report(Event::KeepRecorded(claim.partition.clone()));
                });
            }
            Order::Survey(pod) => {
                if !shop.survey(&pod) {
                    let reason = format!("model {} is not configured", pod.model);
                    shop.world.report(Event::Unreachable { pod, reason });
                }
            }
            Order::Unclaimed(pod, seen) => {
                spawn_local(unclaimed::settle_once(Rc::clone(shop), pod, seen));
            }
            Order::Refresh(claim) => {
                let (shop, lane) = (Rc::clone(shop), shop.lane(&claim.partition));
                spawn_local(see_through(claim.partition.clone(), move || {
                    refresh::refresh(Rc::clone(&shop), Rc::clone(&lane), claim.clone())
                }));
            }
        }
    }

    fn create(&self, claim: Claim) {
        let shop = Rc::clone(&self.0);
        let lane = shop.lane(&claim.partition);
        let cancel = CancellationToken::new();
        lane.cancel.replace(cancel.clone());
        // Its time begins with the order, whatever it has to wait for first.
        let patience = create::patience(&shop, &claim, cancel);
        spawn_local(async move {
            let answer = match patience.hold(lane.turn.lock()).await {
                Ok(_turn) => {
                    let work = {
                        let (shop, lane, claim) = (Rc::clone(&shop), Rc::clone(&lane), claim.clone());
                        async move { create::create(&shop, &lane, &claim, patience).await }
                    };
                    // Every create has one answer, also when there is a fault in this program.
                    let answer = spawn_local(work).await.unwrap_or_else(|broken| Event::CreateFailed {
                        partition: claim.partition.clone(),
                        reason: format!("internal error, please report: {broken}"),
                    });
                    if lane.owner.get() == Owner::Others && lane.recorded.replace(false) {
                        // Nothing came of an intent: nobody shall remove a partition of others because of it.
                        shop.note(Entry::Gone(claim.partition.clone()), &claim).await;
                    }
                    answer
                }
                Err(stop) => create::not_begun(&claim, &patience, &stop),
            };
            shop.world.report(answer);
        });
    }

    fn remove(&self, claim: Claim) {
        let shop = Rc::clone(&self.0);
        let lane = shop.lane(&claim.partition);
        spawn_local(async move {
            let partition = claim.partition.clone();
            let task = || remove::remove(Rc::clone(&shop), Rc::clone(&lane), claim.clone());
            // A partition is never given up.
            see_through(&partition, task).await;
            shop.world.report(Event::Gone(partition));
            remove::watch(&shop, lane, &claim).await;
        });
    }
}
