//! The operator around the planner: it reads what a job needs, perhaps late, and carries out the steps.

use std::collections::BTreeMap;

use ipu_operator::admission::JobShape;
use ipu_operator::api::{FINALIZER, IpuJob};
use ipu_operator::reconcile::{
    Partition, Plan, PodFacts, Role, Seen, Settings, Step, Support, WantedPod, labels, plan,
};

use crate::cluster::{Cluster, FakePod, label};
use crate::engine::Engine;

/// What a cache of the operator has.
#[derive(Clone, Default)]
pub struct Cache {
    pub jobs: BTreeMap<String, IpuJob>,
    pub pods: Vec<(String, PodFacts)>,
}

impl Cache {
    pub fn of(cluster: &Cluster) -> Self {
        let pod = |fake: &FakePod| (label(&fake.pod, labels::JOB_UID).to_owned(), cluster.facts(fake));
        Self { jobs: cluster.jobs.clone(), pods: cluster.pods.values().map(pod).collect() }
    }

    fn pods_of(&self, uid: &str) -> Vec<PodFacts> {
        self.pods.iter().filter(|(job, _)| job == uid).map(|(_, facts)| facts.clone()).collect()
    }
}

/// What goes wrong while steps are carried out.
pub trait Faults {
    /// Whether the operator dies before this step.
    fn dies(&mut self) -> bool;
    /// Whether this call fails.
    fn fails(&mut self) -> bool;
    /// Whether the step is carried out twice.
    fn repeats(&mut self) -> bool;
}

pub struct NoFaults;

impl Faults for NoFaults {
    fn dies(&mut self) -> bool {
        false
    }
    fn fails(&mut self) -> bool {
        false
    }
    fn repeats(&mut self) -> bool {
        false
    }
}

/// The operator died.
pub struct Died;

#[derive(Default)]
pub struct Operator {
    pub settings: Settings,
    refused: BTreeMap<String, String>,
}

pub struct World {
    pub cluster: Cluster,
    pub engine: Engine,
}

impl World {
    /// The UIDs of all jobs that have objects or partitions, with names.
    pub fn uids(&self, cache: &Cache) -> BTreeMap<String, Option<String>> {
        let of_job =
            |(name, job): (&String, &IpuJob)| (job.metadata.uid.clone().unwrap(), Some(name.clone()));
        let left = self.engine.keys().map(|(uid, _)| (uid.clone(), None));
        left.chain(cache.jobs.iter().map(of_job)).collect()
    }

    pub fn seen(&self, cache: &Cache, uid: &str, operator: &Operator, is_fresh: bool) -> Seen {
        let job = cache.jobs.values().find(|job| job.metadata.uid.as_deref() == Some(uid)).cloned();
        let name = job.as_ref().and_then(|job| job.metadata.name.clone()).unwrap_or_default();
        let support = Support::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, self.cluster.support.get(&(name.clone(), kind))?.clone())));
        Seen {
            job,
            pods: cache.pods_of(uid),
            is_fresh,
            partitions: self.engine.seen(uid),
            refused_pods: operator.refused.clone(),
            support: support.collect(),
            now: self.cluster.now,
        }
    }
}

impl Operator {
    /// Plans for one job, and carries the plan out.
    pub fn reconcile(
        &mut self,
        world: &mut World,
        cache: &Cache,
        uid: &str,
        faults: &mut dyn Faults,
    ) -> Result<Plan, Died> {
        let seen = world.seen(cache, uid, self, false);
        let first = plan(&seen, &self.settings);
        if !first.steps.contains(&Step::Look) {
            return self.carry_out(world, uid, &seen, first, faults);
        }
        let mut fresh = Cache::of(&world.cluster);
        // The job itself may be late all the same.
        fresh.jobs.clone_from(&cache.jobs);
        let seen = world.seen(&fresh, uid, self, true);
        let second = plan(&seen, &self.settings);
        assert!(!second.steps.contains(&Step::Look), "{:?}", second.steps);
        self.carry_out(world, uid, &seen, second, faults)
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        uid: &str,
        seen: &Seen,
        plan: Plan,
        faults: &mut dyn Faults,
    ) -> Result<Plan, Died> {
        let mut version = seen.job.as_ref().and_then(|job| job.metadata.resource_version.clone());
        for step in &plan.steps {
            for _ in 0..if faults.repeats() { 2 } else { 1 } {
                if faults.dies() {
                    self.refused.clear();
                    return Err(Died);
                }
                let is_done = !faults.fails() && self.carry_out_step(world, uid, seen, &mut version, step);
                if !is_done && step.is_needed_by_others() {
                    return Ok(plan);
                }
            }
        }
        Ok(plan)
    }

    /// Changes the job, unless it has changed since `version`.
    fn change(
        cluster: &mut Cluster,
        name: &str,
        version: &mut Option<String>,
        change: impl FnOnce(&mut IpuJob),
    ) -> bool {
        if cluster.jobs[name].metadata.resource_version != *version {
            return false;
        }
        cluster.change(name, change);
        *version = cluster.jobs.get(name).and_then(|job| job.metadata.resource_version.clone());
        true
    }

    fn carry_out_step(
        &mut self,
        world: &mut World,
        uid: &str,
        seen: &Seen,
        version: &mut Option<String>,
        step: &Step,
    ) -> bool {
        let cluster = &mut world.cluster;
        let job = seen.job.as_ref();
        let seen_name = job.and_then(|job| job.metadata.name.clone()).unwrap_or_default();
        let live = cluster.jobs.get(&seen_name).filter(|live| live.metadata.uid.as_deref() == Some(uid));
        let name = live.map(|_| seen_name.as_str());
        match step {
            Step::AddFinalizer => {
                let Some(name) = name else { return false };
                let add = |job: &mut IpuJob| {
                    let finalizers = job.metadata.finalizers.get_or_insert_default();
                    if !finalizers.iter().any(|one| one == FINALIZER) {
                        finalizers.push(FINALIZER.to_owned());
                    }
                };
                return Self::change(cluster, name, version, add);
            }
            Step::RemoveFinalizer => {
                let remove = |job: &mut IpuJob| {
                    job.metadata.finalizers.iter_mut().for_each(|all| all.retain(|one| one != FINALIZER));
                };
                if let Some(name) = name {
                    cluster.change(name, remove);
                }
            }
            Step::SetStatus(status) => {
                let Some(name) = name else { return false };
                return Self::change(cluster, name, version, |job| job.status = Some((**status).clone()));
            }
            Step::Record(event) => {
                cluster.events.push((seen_name, event.reason, event.note.clone()));
            }
            Step::Look => unreachable!("it was done before"),
            Step::Apply(kind) => {
                let job = job.unwrap();
                let object = kind.object(job, JobShape::of(&job.spec).unwrap());
                cluster.support.insert((seen_name, *kind), object);
            }
            Step::Want { instance, run } => {
                let job = job.unwrap();
                let ipus = JobShape::of(&job.spec).unwrap().ipus.get();
                world.engine.want((uid.to_owned(), *instance), *run, ipus);
            }
            Step::Free { instance } => world.engine.free(&(uid.to_owned(), *instance)),
            Step::CreatePod { instance, role } => return self.create_pod(cluster, seen, *instance, *role),
            Step::DeletePod { name, uid } => {
                if cluster.pods.get(name).is_some_and(|fake| fake.pod.metadata.uid.as_ref() == Some(uid)) {
                    cluster.delete_pod(name);
                }
            }
            Step::DeleteJob => {
                if let Some(name) = name {
                    cluster.delete_job(name);
                }
            }
        }
        true
    }

    fn create_pod(&mut self, cluster: &mut Cluster, seen: &Seen, instance: u32, role: Role) -> bool {
        let job = seen.job.as_ref().unwrap();
        let Some(Partition::Ready(partition)) = seen.partitions.get(&instance) else {
            panic!("a Pod without IPUs")
        };
        let shape = JobShape::of(&job.spec).unwrap();
        let object = WantedPod { job, shape, instance, role, partition, settings: &self.settings }.object();
        let mut pod: k8s_openapi::api::core::v1::Pod = serde_json::from_value(object).unwrap();
        let name = pod.metadata.name.clone().unwrap();
        let job_name = job.metadata.name.clone().unwrap();
        if cluster.refuses.contains(&job_name) {
            self.refused.insert(name, "exceeded quota: cpu".to_owned());
            return false;
        }
        self.refused.remove(&name);
        if !cluster.pods.contains_key(&name) {
            pod.metadata.uid = Some(cluster.version());
            cluster.pods.insert(name, FakePod { pod, node: None, runs: false });
        }
        true
    }
}
