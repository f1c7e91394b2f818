//! The front end without Slurm and driver: the requests of administrators, and the cost of the status document.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod status_cost;
mod steering;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use frontend::{HostTask, Outside};
use ledger::{Action, Claim, DriverAction, IdleRules, KeepIdleFor, Millis, ModelFacts, Seconds};
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, Placement, PodId, Shape};

/// The Unix time of the tests.
const NOW: i64 = 1_800_000_000;

/// The actions for the driver, and the seconds that have passed.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<(Vec<DriverAction>, i64)>>);

impl Outside for Notes {
    fn now(&self) -> Millis {
        Millis(1000)
    }
    fn unix_time(&self) -> Seconds {
        Seconds(NOW + self.0.lock().unwrap().1)
    }
    fn local_time(&self, at: Seconds) -> String {
        at.0.to_string()
    }
    fn carry_out(&self, actions: Vec<Action>) {
        let of_driver = actions.into_iter().filter_map(|action| match action {
            Action::Driver(action) => Some(action),
            Action::Host(_) => None,
        });
        self.0.lock().unwrap().0.extend(of_driver);
    }
    fn note_launched(&self, _: Claim, _: Seconds) {}
    fn ask_host(&self, _: HostTask) {}
    fn is_switched_off(&self) -> bool {
        false
    }
}

fn pod(model: &str, controller: &str) -> PodId {
    PodId { model: ModelName::new(model).unwrap(), controller: controller.parse().unwrap() }
}

/// A model whose controllers have up to this number of IPUs together.
fn facts(model: &str, controllers: &[&str], placement: Placement, largest: u32) -> ModelFacts {
    ModelFacts {
        model: ModelName::new(model).unwrap(),
        controllers: controllers.iter().map(|controller| controller.parse().unwrap()).collect(),
        domain_size: IpuCount::new(64).unwrap(),
        prefix: "slurm".into(),
        placement,
        reconcile_interval: Duration::from_secs(30),
        largest,
        is_pool: false,
        idle: IdleRules {
            keep: Duration::from_secs(600),
            keep_for: KeepIdleFor::AnyJob,
            ..IdleRules::default()
        },
        trouble: None,
    }
}

/// The claim of a job of pod64 on its first controller.
fn claim(job: u32) -> Claim {
    let PodId { model, controller } = pod("pod64", "a:8090");
    Claim {
        partition: PartitionId::of_run("slurm", job, 0).unwrap(),
        run: JobRun { job, restart: 0, start: NOW },
        task: None,
        user: 1000,
        model,
        controller,
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: None,
        ipus: Vec::new(),
        nodes: Vec::new(),
    }
}
