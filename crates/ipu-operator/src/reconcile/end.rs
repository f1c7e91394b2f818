//! Whether a run has ended, by its Pods.

use super::after;
use super::instance::Facts;
use super::pod_facts::{Node, Phase, PodFacts, Role};
use super::restart::End;
use crate::api::InstanceStatus;

/// The end of an instance's present run. None while it goes on.
pub(super) fn end(facts: &Facts<'_>, instance: &InstanceStatus) -> Option<End> {
    let pods: Vec<_> = facts.pods(instance).collect();
    let launcher = pods.iter().find(|pod| pod.role == Role::Launcher);
    session_end(facts, instance)
        .or_else(|| launcher.and_then(|pod| own_end(pod)))
        .or_else(|| pods.iter().find(|pod| pod.phase == Phase::Failed).and_then(|pod| own_end(pod)))
        .or_else(|| pods.iter().find_map(|pod| loss(pod)))
        .or_else(|| workers_end(facts, &pods))
}

fn session_end(facts: &Facts<'_>, instance: &InstanceStatus) -> Option<End> {
    let ttl = facts.job.spec.interactive.as_ref()?.ttl;
    let until = after(instance.running_since.as_ref()?.0, ttl.into());
    (until <= facts.seen.now).then(|| End::succeeded(format!("its session of {ttl} s is over")).by_time())
}

/// The end of a run by the end of one of its Pods.
fn own_end(pod: &PodFacts) -> Option<End> {
    let name = &pod.name;
    match (pod.phase, pod.exit_code) {
        (Phase::Succeeded, _) => Some(End::succeeded(format!("Pod {name} ended with exit code 0"))),
        (Phase::Failed, Some(code)) => {
            Some(End::failed(Some(code), format!("Pod {name} ended with exit code {code}")))
        }
        (Phase::Failed, None) => {
            let reason = pod.reason.as_deref().unwrap_or("without an exit code");
            Some(End::failed(None, format!("Pod {name} failed: {reason}")))
        }
        (Phase::Pending | Phase::Running, _) => None,
    }
}

/// The end of a run by the loss of a Pod.
fn loss(pod: &PodFacts) -> Option<End> {
    let name = &pod.name;
    let runs = matches!(pod.phase, Phase::Pending | Phase::Running);
    match pod.node {
        Node::Gone if runs => Some(End::failed(None, format!("the node of Pod {name} is gone"))),
        Node::Silent if runs && pod.is_ending => {
            Some(End::failed(None, format!("the node of Pod {name} does not answer")))
        }
        _ if runs && pod.is_ending => Some(End::failed(None, format!("Pod {name} was deleted"))),
        _ => None,
    }
}

/// The end of a run by workers that ended well.
fn workers_end(facts: &Facts<'_>, pods: &[&PodFacts]) -> Option<End> {
    let mut ended = pods.iter().filter(|pod| pod.role != Role::Launcher && pod.phase == Phase::Succeeded);
    if facts.has_launcher() {
        // The work of its workers is begun by the launcher, and their own program waits.
        return ended
            .next()
            .map(|pod| End::failed(None, format!("Pod {} ended before its launcher", pod.name)));
    }
    let all = usize::try_from(facts.shape.workers).unwrap_or(usize::MAX);
    (ended.count() == all).then(|| End::succeeded("its workers ended with exit code 0"))
}
