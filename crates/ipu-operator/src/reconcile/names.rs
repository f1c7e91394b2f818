//! The names of what belongs to a job.

use serde_json::{Value, json};

use super::pod_facts::Role;
use crate::api::IpuJob;

/// The names of what belongs to a job.
#[derive(Clone, Debug)]
pub(super) struct JobNames {
    pub(super) job: String,
    pub(super) namespace: String,
    pub(super) uid: String,
}

impl JobNames {
    pub(super) fn of(job: &IpuJob) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let meta = &job.metadata;
        Self { job: text(&meta.name), namespace: text(&meta.namespace), uid: text(&meta.uid) }
    }

    /// The Pod of a part of an instance. Workers are numbered through the job.
    pub(super) fn pod(&self, instance: u32, role: Role, workers: u32) -> String {
        match (role, instance) {
            (Role::Worker(worker), _) => {
                let number = u64::from(instance) * u64::from(workers) + u64::from(worker);
                format!("{}-worker-{number}", self.job)
            }
            (Role::Launcher, 0) => format!("{}-launcher", self.job),
            (Role::Launcher, _) => format!("{}-launcher-{instance}", self.job),
        }
    }

    pub(super) fn workers(&self, instance: u32, workers: u32) -> impl Iterator<Item = String> {
        (0..workers).map(move |worker| self.pod(instance, Role::Worker(worker), workers))
    }

    /// The launcher's account, and its rights.
    pub(super) fn account(&self) -> String {
        format!("{}-launcher", self.job)
    }

    pub(super) fn config(&self) -> String {
        format!("{}-config", self.job)
    }

    /// The reference by which the API server removes what belongs to the job after it.
    pub(super) fn owner(&self) -> Value {
        json!({
            "apiVersion": "graphcore.ai/v1alpha1",
            "kind": "IPUJob",
            "name": self.job,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}
