//! A cluster with an operator that nothing disturbs, for tests that say what happens.

use ipu_operator::api::{IpuJob, IpuJobStatus};
use ipu_operator::reconcile::{Step, labels};
use serde_json::{Value, json};

use crate::cluster::{Cluster, label, variable};
use crate::engine::Engine;
use crate::operator::{Cache, NoFaults, Operator, World};

/// Plans after which a job comes to rest, if nothing happens.
const ROUNDS: usize = 12;

pub struct Scene {
    pub world: World,
    pub operator: Operator,
    /// The steps of the last tick.
    pub steps: Vec<Step>,
}

/// A job with these members of its spec.
pub fn job(name: &str, members: &Value) -> IpuJob {
    let mut spec = json!({
        "jobInstances": 1,
        "ipusPerJobInstance": "4",
        "workers": {"template": {"spec": {"containers": [{"name": "program", "image": "example/image"}]}}},
    });
    spec.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap_or_default());
    serde_json::from_value(json!({
        "apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": name}, "spec": spec,
    }))
    .unwrap()
}

impl Scene {
    pub fn new(ipus: u32) -> Self {
        let world = World { cluster: Cluster::new(2), engine: Engine::new(ipus) };
        Self { world, operator: Operator::default(), steps: Vec::new() }
    }

    /// A cluster in which a job has been created, and has got as far as it can.
    pub fn with(members: &Value) -> Self {
        let mut scene = Self::new(16);
        scene.world.cluster.create_job(job("job", members));
        scene.settle();
        scene
    }

    /// A tick of everything. The operator goes on until it has nothing to do.
    pub fn tick(&mut self) {
        self.world.cluster.tick();
        self.world.engine.tick();
        self.steps.clear();
        for round in 0.. {
            let cache = Cache::of(&self.world.cluster);
            let mut is_at_rest = true;
            for uid in self.world.uids(&cache).into_keys() {
                let plan = self.operator.reconcile(&mut self.world, &cache, &uid, &mut NoFaults);
                let steps = plan.ok().unwrap().steps;
                is_at_rest &= steps.iter().all(|step| matches!(step, Step::CreatePod { .. }));
                self.steps.extend(steps);
            }
            if is_at_rest {
                break;
            }
            assert!(round < ROUNDS, "the operator does not come to rest: {:?}", self.steps);
        }
        check(&self.world);
    }

    pub fn settle(&mut self) {
        (0..12).for_each(|_| self.tick());
    }

    /// Ticks for about this time.
    pub fn wait(&mut self, seconds: i64) {
        (0..=seconds / crate::cluster::TICK).for_each(|_| self.tick());
    }

    pub fn status(&self) -> &IpuJobStatus {
        self.world.cluster.jobs["job"].status.as_ref().unwrap()
    }

    /// Names of the Pods, each with its run if that is not the first.
    pub fn pods(&self) -> Vec<String> {
        let pods = self.world.cluster.pods.iter();
        pods.map(|(name, fake)| match label(&fake.pod, labels::RUN) {
            "0" => name.clone(),
            run => format!("{name}:{run}"),
        })
        .collect()
    }

    pub fn exit(&mut self, pod: &str, code: i32) {
        self.world.cluster.exit(pod, code);
        self.settle();
    }

    pub fn change(&mut self, change: impl FnOnce(&mut IpuJob)) {
        self.world.cluster.change("job", change);
        self.settle();
    }

    pub fn used(&self) -> u32 {
        self.world.engine.used()
    }

    pub fn has_event(&self, reason: &str) -> bool {
        self.world.cluster.events.iter().any(|(_, event, _)| *event == reason)
    }

    /// The conditions that are true.
    pub fn conditions(&self) -> Vec<&str> {
        let all = self.status().conditions.iter();
        all.filter(|condition| condition.status == "True").map(|condition| condition.kind.as_str()).collect()
    }
}

/// No container runs on IPUs that are not its own.
pub fn check(world: &World) {
    assert!(world.engine.used() <= world.engine.ipus, "IPUs were given twice");
    for (name, fake) in world.cluster.pods.iter().filter(|(_, fake)| fake.runs) {
        let key = (
            label(&fake.pod, labels::JOB_UID).to_owned(),
            label(&fake.pod, labels::INSTANCE).parse().unwrap(),
        );
        let partition = variable(&fake.pod, "IPUOF_VIPU_API_PARTITION_ID").unwrap();
        let run = label(&fake.pod, labels::RUN).parse().unwrap();
        assert!(
            world.engine.serves(&key, &partition, run),
            "{name} runs on {partition}, which is not its own"
        );
    }
}
