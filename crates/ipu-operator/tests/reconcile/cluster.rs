//! An API server with kubelets: jobs, their Pods, and nodes that get lost. It moves on in ticks.

use std::collections::BTreeMap;

use ipu_operator::api::{FINALIZER, IpuJob};
use ipu_operator::reconcile::{Node, PodFacts, Support, labels};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus, Pod,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Seconds of a tick.
pub const TICK: i64 = 10;

/// Ticks after which the Pods of a silent node are deleted.
const EVICTION: u32 = 30;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Ticks since it was heard. 0 means that it answers.
    pub silent: u32,
    pub is_gone: bool,
}

#[derive(Clone, Debug)]
pub struct FakePod {
    pub pod: Pod,
    pub node: Option<usize>,
    /// Whether a container runs, whatever the API server knows.
    pub runs: bool,
}

#[derive(Default)]
pub struct Cluster {
    pub now: Timestamp,
    pub nodes: Vec<Machine>,
    pub jobs: BTreeMap<String, IpuJob>,
    pub pods: BTreeMap<String, FakePod>,
    pub support: BTreeMap<(String, Support), Value>,
    /// Names of jobs whose Pods are refused, as by a quota.
    pub refuses: Vec<String>,
    /// Names of jobs whose Pods cannot be scheduled.
    pub unscheduled: Vec<String>,
    pub events: Vec<(String, &'static str, String)>,
    versions: u64,
}

pub fn label<'a>(pod: &'a Pod, name: &str) -> &'a str {
    &pod.metadata.labels.as_ref().unwrap()[name]
}

pub fn variable(pod: &Pod, name: &str) -> Option<String> {
    let env = pod.spec.as_ref()?.containers.first()?.env.as_ref()?;
    env.iter().find(|variable| variable.name == name)?.value.clone()
}

impl Cluster {
    pub fn new(nodes: usize) -> Self {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Self { now, nodes: vec![Machine::default(); nodes], ..Self::default() }
    }

    pub fn version(&mut self) -> String {
        self.versions += 1;
        self.versions.to_string()
    }

    pub fn create_job(&mut self, mut job: IpuJob) {
        job.metadata.namespace = Some("default".to_owned());
        job.metadata.uid = Some(format!("uid-{}", self.version()));
        job.metadata.resource_version = Some(self.version());
        self.jobs.insert(job.metadata.name.clone().unwrap(), job);
    }

    /// Changes a job as a user does.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut IpuJob)) {
        let version = self.version();
        let Some(job) = self.jobs.get_mut(name) else { return };
        change(job);
        job.metadata.resource_version = Some(version);
        self.end_jobs();
    }

    pub fn delete_job(&mut self, name: &str) {
        let now = self.now;
        self.change(name, |job| {
            job.metadata.deletion_timestamp.get_or_insert(Time(now));
        });
    }

    /// Jobs that were deleted and have no finalizer go, and their Pods after them.
    fn end_jobs(&mut self) {
        let stays = |job: &IpuJob| {
            job.metadata.deletion_timestamp.is_none()
                || job.metadata.finalizers.iter().flatten().next().is_some()
        };
        self.jobs.retain(|_, job| stays(job));
        let uids: Vec<_> = self.jobs.values().filter_map(|job| job.metadata.uid.clone()).collect();
        let orphans = self
            .pods
            .iter()
            .filter(|(_, pod)| !uids.iter().any(|uid| uid == label(&pod.pod, labels::JOB_UID)));
        let orphans: Vec<_> = orphans.map(|(name, _)| name.clone()).collect();
        orphans.iter().for_each(|name| self.delete_pod(name));
    }

    pub fn delete_pod(&mut self, name: &str) {
        let Some(fake) = self.pods.get_mut(name) else { return };
        if fake.node.is_none() || !fake.runs && is_terminal(&fake.pod) {
            self.pods.remove(name);
        } else {
            fake.pod.metadata.deletion_timestamp.get_or_insert(Time(self.now));
        }
    }

    pub fn has_finalizer(&self, name: &str) -> bool {
        self.jobs[name].metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
    }

    /// The program of a Pod ends with this code.
    pub fn exit(&mut self, name: &str, code: i32) {
        let Some(fake) = self.pods.get_mut(name).filter(|fake| fake.runs) else { return };
        fake.runs = false;
        if fake.node.is_some_and(|node| self.nodes[node] == Machine::default()) {
            report(fake, Some(code));
        }
    }

    /// A node stops to answer. With `dies` its containers end.
    pub fn lose(&mut self, node: usize, dies: bool) {
        self.nodes[node].silent = self.nodes[node].silent.max(1);
        for fake in self.pods.values_mut().filter(|fake| dies && fake.node == Some(node)) {
            fake.runs = false;
        }
    }

    /// A node answers again. Programs that ended meanwhile are told as killed.
    pub fn recover(&mut self, node: usize) {
        self.nodes[node] = Machine::default();
        for fake in self.pods.values_mut().filter(|fake| fake.node == Some(node) && !fake.runs) {
            if !is_terminal(&fake.pod) && has_phase(&fake.pod, "Running") {
                report(fake, Some(137));
            }
        }
    }

    /// An administrator deletes the object of a node that is dead.
    pub fn remove_node(&mut self, node: usize) {
        self.lose(node, true);
        self.nodes[node].is_gone = true;
    }

    pub fn tick(&mut self) {
        self.now = self.now.checked_add(SignedDuration::from_secs(TICK)).unwrap();
        for machine in self.nodes.iter_mut().filter(|machine| machine.silent > 0) {
            machine.silent += 1;
        }
        let names: Vec<_> = self.pods.keys().cloned().collect();
        for name in names {
            self.tick_pod(&name);
        }
    }

    fn tick_pod(&mut self, name: &str) {
        let Some(fake) = self.pods.get(name).cloned() else { return };
        let is_ending = fake.pod.metadata.deletion_timestamp.is_some();
        let Some(node) = fake.node else {
            if !self.unscheduled.iter().any(|job| job == label(&fake.pod, labels::JOB_NAME)) {
                let up = self.nodes.iter().position(|machine| *machine == Machine::default());
                self.pods.get_mut(name).unwrap().node = up;
            }
            return;
        };
        let machine = self.nodes[node];
        if machine.is_gone && is_ending {
            self.pods.remove(name);
        } else if machine.silent > EVICTION || machine.is_gone {
            self.delete_pod(name);
        } else if machine.silent == 0 && is_ending {
            self.pods.remove(name);
        } else if machine.silent == 0 && has_phase(&fake.pod, "Pending") && self.may_start(&fake.pod) {
            let fake = self.pods.get_mut(name).unwrap();
            fake.runs = true;
            report(fake, None);
        }
    }

    /// A launcher waits for its workers.
    fn may_start(&self, pod: &Pod) -> bool {
        let same = |other: &Pod, name| label(other, name) == label(pod, name);
        let peers = self.pods.values().filter(|other| {
            same(&other.pod, labels::JOB_UID)
                && same(&other.pod, labels::INSTANCE)
                && same(&other.pod, labels::RUN)
        });
        label(pod, labels::ROLE) == labels::WORKER_ROLE
            || peers
                .filter(|other| label(&other.pod, labels::ROLE) == labels::WORKER_ROLE)
                .all(|other| other.runs)
    }

    /// What the operator reads of a Pod.
    pub fn facts(&self, fake: &FakePod) -> PodFacts {
        let node = match fake.node.map(|node| self.nodes[node]) {
            None => Node::None,
            Some(machine) if machine.is_gone => Node::Gone,
            Some(machine) if machine.silent > 0 => Node::Silent,
            Some(_) => Node::Up,
        };
        let mut pod = fake.pod.clone();
        pod.spec.as_mut().unwrap().node_name = fake.node.map(|node| format!("node-{node}"));
        PodFacts::of(&pod, node).unwrap()
    }
}

fn has_phase(pod: &Pod, phase: &str) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending") == phase
}

fn is_terminal(pod: &Pod) -> bool {
    has_phase(pod, "Succeeded") || has_phase(pod, "Failed")
}

/// The kubelet writes the status of a Pod that runs, or has ended with a code.
fn report(fake: &mut FakePod, code: Option<i32>) {
    let state = match code {
        None => {
            ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() }
        }
        Some(exit_code) => ContainerState {
            terminated: Some(ContainerStateTerminated { exit_code, ..ContainerStateTerminated::default() }),
            ..ContainerState::default()
        },
    };
    let status = fake.pod.status.get_or_insert_default();
    status.phase =
        Some(code.map_or("Running", |code| if code == 0 { "Succeeded" } else { "Failed" }).to_owned());
    status.container_statuses =
        Some(vec![ContainerStatus { state: Some(state), ..ContainerStatus::default() }]);
}
