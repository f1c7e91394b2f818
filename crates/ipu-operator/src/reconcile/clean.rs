//! What stays of an instance that has ended.

use k8s_openapi::jiff::Timestamp;

use super::after;
use super::pod_facts::{PodFacts, Role};
use super::seen::Settings;
use crate::api::{CleanPodPolicy, InstanceStatus, IpuJobSpec, Outcome};

/// Until when a failed instance keeps its Pods and its partition. None if it does not.
pub(super) fn kept_until(spec: &IpuJobSpec, instance: &InstanceStatus) -> Option<Timestamp> {
    let seconds = spec.keep_partition_seconds.filter(|_| instance.outcome == Some(Outcome::Failed))?;
    Some(after(instance.ended.as_ref()?.0, seconds))
}

/// Whether an instance that has ended keeps its partition until the job is deleted.
pub(super) fn keeps_ipus(spec: &IpuJobSpec, settings: &Settings) -> bool {
    settings.finished_jobs_keep_ipus && spec.clean_pod_policy != CleanPodPolicy::All
}

/// Whether a Pod of an instance that has ended goes.
pub(super) fn goes(spec: &IpuJobSpec, settings: &Settings, pod: &PodFacts) -> bool {
    match spec.clean_pod_policy {
        CleanPodPolicy::All => true,
        CleanPodPolicy::Workers if matches!(pod.role, Role::Worker(_)) => true,
        // A container that runs would use IPUs that are given to others.
        CleanPodPolicy::None | CleanPodPolicy::Workers => !pod.is_over() && !keeps_ipus(spec, settings),
    }
}
