//! What a Pod of a job says: its place in the job, and whether its containers run.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use super::labels;

/// The part of a Pod in its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A worker, by its number in the instance.
    Worker(u32),
    /// The launcher, or the session.
    Launcher,
}

/// The phase of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not all its containers have started.
    #[default]
    Pending,
    /// It runs, or its node does not say.
    Running,
    /// Its containers ended with exit code 0.
    Succeeded,
    /// It ended otherwise.
    Failed,
}

/// The node of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Node {
    /// It has none yet.
    #[default]
    None,
    /// It answers.
    Up,
    /// It does not answer. Containers may run there.
    Silent,
    /// Its object is gone: an administrator or the cloud says that nothing runs there.
    Gone,
}

/// What a Pod of a job says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Its name.
    pub name: String,
    /// Its UID, as a later Pod has its name.
    pub uid: String,
    /// Its instance.
    pub instance: u32,
    /// Its part in the instance.
    pub role: Role,
    /// The run of the instance that it was made for.
    pub run: u32,
    /// Its phase.
    pub phase: Phase,
    /// Whether it was deleted, and its containers may still run.
    pub is_ending: bool,
    /// Its node.
    pub node: Node,
    /// Whether a container has started, and not ended for all that is known.
    pub has_containers: bool,
    /// The first exit code other than 0, those of init containers last.
    pub exit_code: Option<u8>,
    /// Why it cannot start, or why it failed.
    pub reason: Option<String>,
}

impl PodFacts {
    /// Reads a Pod. None if it is no Pod of a job.
    pub fn of(pod: &Pod, node: Node) -> Option<Self> {
        let labels = pod.metadata.labels.as_ref()?;
        let number = |label| labels.get(label)?.parse().ok();
        let role = match labels.get(labels::ROLE)?.as_str() {
            labels::LAUNCHER => Role::Launcher,
            _ => Role::Worker(number(labels::WORKER)?),
        };
        let status = pod.status.clone().unwrap_or_default();
        let phase = match status.phase.as_deref() {
            None | Some("Pending") => Phase::Pending,
            Some("Succeeded") => Phase::Succeeded,
            Some("Failed") => Phase::Failed,
            Some(_) => Phase::Running,
        };
        let init = status.init_container_statuses.unwrap_or_default();
        let main = status.container_statuses.unwrap_or_default();
        let containers = || init.iter().chain(&main);
        let unscheduled = status.conditions.iter().flatten().find(|condition| {
            condition.type_ == "PodScheduled" && condition.status == "False" && phase == Phase::Pending
        });
        let reason = containers()
            .find_map(trouble)
            .or_else(|| unscheduled.and_then(|condition| condition.message.clone()))
            .or_else(|| status.message.or(status.reason));
        let has_node = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        // Earlier kubelets tell of an eviction before they end the containers, and tell nothing of these.
        let is_untold = has_node && main.is_empty() && matches!(phase, Phase::Succeeded | Phase::Failed);
        Some(Self {
            name: pod.metadata.name.clone()?,
            uid: pod.metadata.uid.clone()?,
            instance: number(labels::INSTANCE)?,
            role,
            run: number(labels::RUN)?,
            phase,
            is_ending: pod.metadata.deletion_timestamp.is_some(),
            node: if has_node { node } else { Node::None },
            has_containers: is_untold || containers().any(may_run),
            exit_code: main.iter().chain(&init).find_map(exit_code),
            reason,
        })
    }

    /// Whether it certainly has no container that runs or can start.
    pub fn is_over(&self) -> bool {
        let has_ended = matches!(self.phase, Phase::Succeeded | Phase::Failed) && !self.has_containers;
        has_ended || self.node == Node::Gone
    }

    /// The words for IPUs that wait for its end.
    pub(super) fn holds_ipus(&self) -> String {
        let name = &self.name;
        match self.node {
            Node::Silent => format!(
                "its IPUs wait for the node of Pod {name}, which does not answer: they are free when it is back, when \
                 its node object is deleted, or when the Pod is deleted by force"
            ),
            Node::None | Node::Up | Node::Gone => format!("its IPUs wait for the end of Pod {name}"),
        }
    }

    /// Whether its containers are started.
    pub(super) fn has_started(&self) -> bool {
        self.phase != Phase::Pending
    }
}

fn state(status: &ContainerStatus) -> ContainerState {
    status.state.clone().unwrap_or_default()
}

fn may_run(status: &ContainerStatus) -> bool {
    let state = state(status);
    // A container that waits to start once more has ended.
    state.running.is_some()
        || (state.terminated.is_none() && state.waiting.is_none() && status.container_id.is_some())
}

fn exit_code(status: &ContainerStatus) -> Option<u8> {
    let code = state(status).terminated?.exit_code;
    // A code beyond 255 is one of another system.
    (code != 0).then(|| u8::try_from(code).unwrap_or(u8::MAX))
}

/// Why a container cannot start. One that is on its way has no trouble.
fn trouble(status: &ContainerStatus) -> Option<String> {
    let waiting = state(status).waiting?;
    let reason = waiting
        .reason
        .filter(|reason| !matches!(reason.as_str(), "ContainerCreating" | "PodInitializing"))?;
    Some(waiting.message.map_or(reason.clone(), |message| format!("{reason}: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn facts(status: &Value) -> PodFacts {
        let labels =
            json!({labels::ROLE: "worker", labels::WORKER: "1", labels::INSTANCE: "2", labels::RUN: "3"});
        let metadata = json!({"name": "job-worker-5", "uid": "u", "labels": labels});
        let spec = json!({"nodeName": "node", "containers": []});
        let pod = json!({"metadata": metadata, "spec": spec, "status": status});
        PodFacts::of(&serde_json::from_value(pod).unwrap(), Node::Up).unwrap()
    }

    fn container(state: &Value) -> Value {
        json!([{"name": "program", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}])
    }

    #[test]
    fn k8s_a_pod_is_over_when_all_its_containers_are_known_to_have_ended() {
        let ended = container(&json!({"terminated": {"exitCode": 3}}));
        for (status, is_over) in [
            (json!({"phase": "Pending"}), false),
            (json!({"phase": "Running", "containerStatuses": ended}), false),
            (json!({"phase": "Failed", "containerStatuses": ended}), true),
            (json!({"phase": "Failed", "containerStatuses": container(&json!({"running": {}}))}), false),
            (json!({"phase": "Failed", "reason": "Evicted"}), false),
        ] {
            assert_eq!(facts(&status).is_over(), is_over, "{status}");
        }
    }

    #[test]
    fn k8s_a_pod_tells_its_exit_code_and_its_trouble() {
        let init = container(&json!({"terminated": {"exitCode": 137}}));
        let main = container(&json!({"terminated": {"exitCode": 3}}));
        let failed =
            facts(&json!({"phase": "Failed", "initContainerStatuses": init, "containerStatuses": main}));
        assert_eq!(
            (failed.exit_code, failed.role, failed.instance, failed.run),
            (Some(3), Role::Worker(1), 2, 3)
        );
        let waiting =
            |reason: &str| container(&json!({"waiting": {"reason": reason, "message": "no such image"}}));
        let reason = |status: &Value| facts(status).reason;
        let pull = json!({"phase": "Pending", "containerStatuses": waiting("ErrImagePull")});
        assert_eq!(reason(&pull).as_deref(), Some("ErrImagePull: no such image"));
        assert_eq!(
            reason(&json!({"phase": "Pending", "containerStatuses": waiting("ContainerCreating")})),
            None
        );
        let scheduled =
            json!([{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]);
        let unscheduled = json!({"phase": "Pending", "conditions": scheduled});
        assert_eq!(reason(&unscheduled).as_deref(), Some("0/3 nodes are available"));
    }
}
