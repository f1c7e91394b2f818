//! The front end without daemons and driver: its answers to the callbacks of the fake Slurm and to administrators, and
//! the cost of the status document.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod cluster;
#[path = "../common/fake_slurm.rs"]
mod fake_slurm;
#[path = "../common/fake_test.rs"]
mod fake_test;
mod forecasts;
mod het_jobs;
mod limits;
mod nodes;
#[path = "../common/orders.rs"]
mod orders;
mod requests;
mod status_cost;
mod steering;

use std::path::Path;
use std::time::Duration;

use frontend::{Cabling, Model, Models};
use ledger::{Claim, IdleRules, KeepIdleFor, ModelFacts};
use vipu_conf::Settings;
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, Placement, PodId, Shape};

use orders::NOW;

/// The model pod64 with these lines in its file. A partition has 64 IPUs at most.
fn model(lines: &str, cabling: Option<Cabling>) -> Model {
    let settings = Settings::parse(&format!("IpuofDir=/x {lines}"), Path::new("vipu.conf"));
    Model { largest: 64, sizes: None, settings: Some(settings.unwrap()), cabling: cabling.map(Into::into) }
}

fn models(name: &str, model: Model) -> Models {
    Models([(ModelName::new(name).unwrap(), model)].into())
}

/// Hosts with IPUs of their own.
const HOSTS: &str = "ApiHost=a Mode=host HostMap=hosts.map Cluster=pod64";

/// Each of four nodes has 16 IPUs. Those of the second and the third node are exchanged.
fn hosts() -> Option<Cabling> {
    Some(Cabling::Hosts([(1, 0..16), (2, 32..48), (3, 16..32), (4, 48..64)].into()))
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
