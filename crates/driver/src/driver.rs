//! The loop that takes orders and starts a task for each.

use std::rc::Rc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::handle::Order;
use crate::shop::Shop;
use crate::{Journal, JournalError, LiveRecord, Orders, World, create, remove};

/// The pause before a remove that ended in a fault of this program is begun again.
const AFTER_A_FAULT: Duration = Duration::from_secs(30);

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
            () = tasks.run_until(work) => Ok(()),
            by_another = self.0.world.journal().superseded() => Err(by_another),
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
            Order::Survey(pod) => {
                if !shop.survey(&pod) {
                    let reason = format!("model {} is not configured", pod.model);
                    shop.world.report(Event::Unreachable { pod, reason });
                }
            }
        }
    }

    fn create(&self, claim: Claim) {
        let shop = Rc::clone(&self.0);
        let lane = shop.lane(&claim.partition);
        let cancel = CancellationToken::new();
        lane.cancel.replace(cancel.clone());
        spawn_local(async move {
            let partition = claim.partition.clone();
            let work = {
                let shop = Rc::clone(&shop);
                async move {
                    let _turn = lane.turn.lock().await;
                    create::create(&shop, &lane, &claim, cancel).await
                }
            };
            // Every create has one answer, also when there is a fault in this program.
            let answer = spawn_local(work).await.unwrap_or_else(|broken| Event::CreateFailed {
                partition,
                reason: format!("internal error, please report: {broken}"),
            });
            shop.world.report(answer);
        });
    }

    fn remove(&self, claim: Claim) {
        let shop = Rc::clone(&self.0);
        let lane = shop.lane(&claim.partition);
        spawn_local(async move {
            loop {
                let (shop, lane, claim) = (Rc::clone(&shop), Rc::clone(&lane), claim.clone());
                let partition = claim.partition.clone();
                let work = async move {
                    let _turn = lane.turn.lock().await;
                    remove::remove(&shop, &lane, &claim).await;
                };
                let Err(broken) = spawn_local(work).await else { break };
                // A partition is never given up, also when there is a fault in this program.
                error!("{partition}: internal error, please report: {broken}");
                sleep(AFTER_A_FAULT).await;
            }
            shop.close(&claim.partition, lane);
            shop.world.report(Event::Gone(claim.partition));
        });
    }
}
