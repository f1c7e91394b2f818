//! The orders of a front end, and the answers to them, in place of driver and host thread. Time passes at the word of a
//! test.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use frontend::{Frontend, HostTask, Models, Outside};
use ledger::{Action, Claim, DriverAction, Event, HostAction, Millis, Seconds};

/// The Unix time at the beginning.
pub const NOW: i64 = 1_800_000_000;

/// The orders of a front end until they are answered.
#[derive(Clone, Default)]
pub struct Orders(Arc<Mutex<Given>>);

#[derive(Default)]
struct Given {
    actions: Vec<Action>,
    /// The reason that each job was shown last.
    reasons: BTreeMap<u32, String>,
    /// The seconds that have passed.
    passed: i64,
}

impl Outside for Orders {
    fn now(&self) -> Millis {
        Millis(1_000)
    }

    fn unix_time(&self) -> Seconds {
        Seconds(NOW + self.given().passed)
    }

    fn local_time(&self, at: Seconds) -> String {
        format!("{at:?}")
    }

    fn carry_out(&self, actions: Vec<Action>) {
        self.given().actions.extend(actions);
    }

    fn note_launched(&self, _: Claim, _: Seconds) {}

    fn ask_host(&self, task: HostTask) {
        if let HostTask::ShowReason { job, reason } = task {
            self.given().reasons.insert(job, reason.line);
        }
    }

    fn is_switched_off(&self) -> bool {
        false
    }
}

impl Orders {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap()
    }

    /// Takes the orders that were not answered yet.
    pub fn take(&self) -> Vec<Action> {
        std::mem::take(&mut self.given().actions)
    }

    /// Lets time pass.
    pub fn pass(&self, seconds: i64) {
        self.given().passed += seconds;
    }

    /// A front end with these models, whose controllers have 64 free IPUs each.
    pub fn front_end(&self, models: Models) -> Frontend {
        let frontend = Frontend::new(Box::new(self.clone()));
        frontend.note_journal_read();
        configure(&frontend, models);
        let models = frontend.ledger().view().models;
        for pod in models.into_iter().flat_map(|model| model.pods).map(|pod| pod.id) {
            let (asked, partitions) = (Millis(1_000), Vec::new());
            frontend.tell(Event::Inventory { pod, asked, ipus: 64, faulty: 0, partitions });
        }
        frontend
    }

    /// The reason that a job was shown last.
    pub fn reason(&self, job: u32) -> Option<String> {
        self.given().reasons.get(&job).cloned()
    }

    /// Answers all orders. Each create succeeds, unless it fails with this reason.
    pub fn settle(&self, frontend: &Frontend, create_fails: Option<&str>) {
        let mut left = VecDeque::from(self.take());
        while let Some(next) = left.pop_front() {
            frontend.tell(match next {
                Action::Driver(
                    DriverAction::Create(Claim { partition, .. })
                    | DriverAction::CreateAfter(Claim { partition, .. }, _),
                ) => match create_fails {
                    Some(reason) => Event::CreateFailed { partition, reason: reason.into() },
                    None => Event::Up(partition),
                },
                Action::Driver(DriverAction::Reuse { claim, .. }) => Event::Up(claim.partition),
                Action::Driver(DriverAction::MakeIdle { claim, .. }) => Event::Idle(claim.partition),
                Action::Driver(DriverAction::Remove(claim)) => Event::Gone(claim.partition),
                Action::Driver(DriverAction::Keep(claim, _)) => Event::KeepRecorded(claim.partition),
                Action::Host(HostAction::OpenLaunch(claim)) => Event::Launched(claim.partition),
                Action::Host(HostAction::AwaitNodes(claim)) => Event::NodesDone(claim.partition),
                _ => continue,
            });
            left.extend(self.take());
        }
    }
}

/// Takes models into use.
pub fn configure(frontend: &Frontend, models: Models) {
    let facts = models.0.iter().map(|(name, model)| model.facts(name, None)).collect();
    frontend.set_models(models);
    frontend.tell_models(facts);
}
