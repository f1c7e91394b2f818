//! The loop that takes orders and starts a task for each one.

use std::cell::RefCell;
use std::rc::Rc;

use ledger::{Claim, DriverAction, Event};
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use vipu_types::words;

use crate::create::Start;
use crate::handle::Order;
use crate::restart_on_panic::restarted_on_panic;
use crate::shared_state::SharedState;
use crate::tracked::Tracked;
use crate::{
    Entry, Environment, Journal, JournalError, LiveRecord, Orders, Stage, create_after_removals,
    durable_files, make_idle, remove, run_records, survey, unclaimed, withheld,
};

/// The executor of orders: see [`Driver::run`].
pub struct Driver<W: Environment> {
    shared: Rc<SharedState<W>>,
    /// The partitions that no run gets before a time in the journal.
    withheld: Vec<Claim>,
    /// The surveys of the configured Pods.
    surveys: RefCell<Vec<AbortOnDropHandle<()>>>,
}

impl<W: Environment> Driver<W> {
    /// A driver that knows the partitions `live` from the journal of an earlier driver.
    ///
    /// It does not act on those that may exist before the ledger gives an order.
    pub fn new(environment: W, live: Vec<LiveRecord>) -> Self {
        let withheld = live.iter().filter(|record| matches!(record.stage, Stage::Withheld(_)));
        let withheld = withheld.map(|record| record.claim.clone()).collect();
        Self { shared: Rc::new(SharedState::new(environment, live)), withheld, surveys: RefCell::default() }
    }

    /// Carries out orders until every [`crate::Handle`] is dropped. Work under way at that time, or when this
    /// future is dropped, is left as the journal has it.
    ///
    /// # Errors
    /// If the journal says that another slurmctld has taken over. The error comes at once, whatever is under
    /// way.
    ///
    /// Needs a tokio runtime with time and with the features that the controllers need. It is meant for a
    /// current-thread runtime.
    pub async fn run(self, mut orders: Orders<W::Controller>) -> Result<(), JournalError> {
        let tasks = LocalSet::new();
        let work = async {
            for claim in &self.withheld {
                let (shared, tracked) = (Rc::clone(&self.shared), self.shared.tracked(&claim.partition));
                spawn_local(remove::watch_on(shared, tracked, claim.clone()));
            }
            while let Some(order) = orders.0.recv().await {
                self.take(order);
            }
        };
        tokio::select! {
            biased;
            by_another = self.shared.environment.journal().superseded() => Err(by_another),
            () = tasks.run_until(work) => Ok(()),
        }
    }

    fn take(&self, order: Order<W::Controller>) {
        let shared = &self.shared;
        match order {
            Order::Do(action) => self.carry_out(action),
            Order::Pods(setups) => {
                shared.configure(setups);
                // The surveys of the old controllers end here. None of them can answer for a new controller.
                self.surveys.replace(survey::start(shared));
            }
            Order::Ended(claim, ended) => {
                let shared = Rc::clone(shared);
                spawn_local(async move {
                    let partition = claim.partition.clone();
                    shared.resources.note(Entry::Ended { partition, ended }, &claim).await;
                });
            }
            Order::Launched(claim, at) => {
                self.spawn(claim, move |shared, tracked, claim| {
                    run_records::launched(shared, tracked, claim, at)
                });
            }
        }
    }

    fn carry_out(&self, action: DriverAction) {
        let shared = &self.shared;
        match action {
            DriverAction::Create(claim) => create_after_removals::create(shared, claim, vec![], Start::Anew),
            DriverAction::CreateAfter(claim, before) => {
                create_after_removals::create(shared, claim, before, Start::Anew)
            }
            DriverAction::Reuse { claim, before, reset } => {
                create_after_removals::create(shared, claim, vec![], Start::Reuse { before, reset });
            }
            DriverAction::MakeIdle { claim, reset } => self.make_idle(claim, reset),
            DriverAction::CancelCreate(partition) => {
                if let Some(tracked) = shared.known(&partition) {
                    tracked.cancel.borrow().cancel();
                }
            }
            DriverAction::Remove(claim) => self.remove(claim),
            DriverAction::Bind(claim) => self.spawn(claim, run_records::bind),
            DriverAction::Keep(claim, until) => {
                self.spawn(claim, move |shared, tracked, claim| {
                    run_records::keep(shared, tracked, claim, until)
                });
            }
            DriverAction::Withhold(claim, left) => {
                self.spawn(claim, move |shared, tracked, claim| {
                    withheld::withhold_in_pool(shared, tracked, claim, left)
                });
            }
            DriverAction::EndWithheld(partition) => {
                if let Some(tracked) = shared.known(&partition) {
                    let shared = Rc::clone(shared);
                    spawn_local(restarted_on_panic(partition.clone(), move || {
                        withheld::end(Rc::clone(&shared), Rc::clone(&tracked), partition.clone())
                    }));
                }
            }
            DriverAction::Survey(pod) => {
                if !shared.survey(&pod) {
                    let reason = words!("model {} is not configured", pod.model);
                    shared.environment.report(Event::Unreachable { pod, reason });
                }
            }
            DriverAction::Unclaimed { pod, seen } => {
                spawn_local(unclaimed::settle_once(Rc::clone(shared), pod, seen));
            }
            DriverAction::RemoveForeign { pod, partition } => {
                spawn_local(unclaimed::remove_foreign(Rc::clone(shared), pod, partition));
            }
            DriverAction::Refresh(claim, why) => {
                self.spawn(claim, move |shared, tracked, claim| {
                    durable_files::refresh(shared, tracked, claim, why)
                });
            }
        }
    }

    /// Starts a task about a claim's partition. A task that panics begins again.
    fn spawn<F: Future<Output = ()> + 'static>(
        &self,
        claim: Claim,
        task: impl Fn(Rc<SharedState<W>>, Rc<Tracked>, Claim) -> F + 'static,
    ) {
        let (shared, tracked) = (Rc::clone(&self.shared), self.shared.tracked(&claim.partition));
        spawn_local(restarted_on_panic(claim.partition.clone(), move || {
            task(Rc::clone(&shared), Rc::clone(&tracked), claim.clone())
        }));
    }

    fn make_idle(&self, claim: Claim, reset: bool) {
        let shared = Rc::clone(&self.shared);
        let tracked = shared.tracked(&claim.partition);
        spawn_local(async move {
            let partition = claim.partition.clone();
            let work = make_idle::make_idle(Rc::clone(&shared), tracked, claim, reset);
            // The ledger gets one answer, even after a fault in this program.
            let answer = spawn_local(work).await.unwrap_or_else(|broken| {
                tracing::error!("{partition}: internal error, please report: {broken}");
                Event::NotIdle(partition)
            });
            shared.environment.report(answer);
        });
    }

    fn remove(&self, claim: Claim) {
        let shared = Rc::clone(&self.shared);
        let tracked = shared.tracked(&claim.partition);
        let gone = CancellationToken::new();
        tracked.gone.replace(gone.clone());
        spawn_local(async move {
            let partition = claim.partition.clone();
            let task = || remove::remove(Rc::clone(&shared), Rc::clone(&tracked), claim.clone());
            // The removal of a partition is never given up.
            restarted_on_panic(&partition, task).await;
            gone.cancel();
            shared.environment.report(Event::Gone(partition));
            remove::watch(&shared, tracked, &claim).await;
        });
    }
}
