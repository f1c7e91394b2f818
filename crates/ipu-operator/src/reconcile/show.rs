//! The status of a job as users see it: what its instances, Pods and partitions come to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::decide::Decided;
use super::instance::Facts;
use super::pod_facts::{Phase, PodFacts, Role};
use super::seen::{Partition, Seen};
use super::step::Event;
use super::{labels, names::JobNames};
use crate::api::{
    ConditionType, InstanceState, InstanceStatus, IpuJob, IpuJobStatus, JobCondition, Outcome, WorkersStatus,
};

/// The words of a job that goes on without trouble, as with the vendor's operator.
const RECONCILED: &str = "Successfully reconciled IPUJob";

/// Writes all that follows from the decisions into the status. `facts` is None if the spec cannot be run.
pub(super) fn show(decided: &mut Decided, facts: Option<&Facts<'_>>, job: &IpuJob, seen: &Seen) {
    let names = JobNames::of(job);
    let is_finished = decided.status.completion_time.is_some();
    let wanted = facts.map_or(0, |facts| facts.shape.instances);
    let status = &mut decided.status;
    status.desired_replicas = job.spec.job_instances;
    status.observed_generation = job.metadata.generation;
    status.selector = format!("{}={},{}={}", labels::JOB_UID, names.uid, labels::ROLE, labels::WORKER_ROLE);
    status.workers_status = workers(&seen.pods);
    for instance in &mut status.instances {
        instance.partition = seen.ready(instance.instance, instance.run).map(|ready| ready.id.clone());
    }
    let active = || status.instances.iter().filter(|instance| instance.instance < wanted);
    let running = active().filter(|instance| instance.state == InstanceState::Running).count();
    let all_run = running > 0
        && active().all(|instance| matches!(instance.state, InstanceState::Running | InstanceState::Ended));
    let restarts = active().any(|instance| instance.state == InstanceState::Restarting);
    let has_partition = |instance: &InstanceStatus| {
        matches!(seen.partitions.get(&instance.instance), Some(Partition::Ready(_)))
    };
    let created =
        wanted > 0 && active().all(|instance| instance.outcome.is_some() || has_partition(instance));
    let message = if is_finished { end_message(status) } else { wait_message(active()) };
    status.current_replicas = if is_finished { 0 } else { i32::try_from(running).unwrap_or(i32::MAX) };
    status.ipu_partition_created = created && !is_finished;
    status.last_message = message;
    let failed = status.instances.iter().any(|instance| instance.outcome == Some(Outcome::Failed));
    let failed = failed || status.instances.is_empty();
    let state = match (is_finished, failed) {
        (true, true) => ConditionType::Failed,
        (true, false) => ConditionType::Succeeded,
        (false, _) if restarts => ConditionType::Restarting,
        (false, _) if all_run => ConditionType::Running,
        (false, _) => ConditionType::Pending,
    };
    status.launcher_status = match state {
        ConditionType::Succeeded => "Completed".to_owned(),
        other => other.to_string(),
    };
    set_conditions(decided, state, &names, seen);
}

fn workers(pods: &[PodFacts]) -> WorkersStatus {
    let mut status = WorkersStatus::default();
    for pod in pods.iter().filter(|pod| pod.role != Role::Launcher) {
        match pod.phase {
            Phase::Pending | Phase::Running => status.active += 1,
            Phase::Succeeded => status.succeeded += 1,
            Phase::Failed => status.failed += 1,
        }
    }
    status
}

/// What the first instance that does not run waits for.
fn wait_message<'a>(mut active: impl Iterator<Item = &'a InstanceStatus>) -> String {
    let waiting =
        active.find(|instance| !matches!(instance.state, InstanceState::Running | InstanceState::Ended));
    waiting.map_or(RECONCILED.to_owned(), |instance| {
        format!("instance {}: {}", instance.instance, instance.message)
    })
}

fn end_message(status: &IpuJobStatus) -> String {
    let failed = status.instances.iter().find(|instance| instance.outcome == Some(Outcome::Failed));
    match failed {
        Some(instance) => format!("instance {}: {}", instance.instance, instance.message),
        None if status.instances.is_empty() => status.last_message.clone(),
        None => "All instances done".to_owned(),
    }
}

/// Each condition that was true once stays, as False, so that `kubectl wait` sees changes.
fn set_conditions(decided: &mut Decided, state: ConditionType, names: &JobNames, seen: &Seen) {
    let Decided { status, events, reason, .. } = decided;
    let job = format!("IPUJob {}/{}", names.namespace, names.job);
    let text = match state {
        ConditionType::Created => format!("{job} was created."),
        ConditionType::Pending => format!("{job} is waiting for resources to be ready."),
        ConditionType::Running => format!("{job} is running."),
        ConditionType::Restarting => format!("{job} is restarting."),
        ConditionType::Succeeded => format!("{job} has completed."),
        ConditionType::Failed => format!("{job} has failed: {}", status.last_message),
    };
    let now = Time(seen.now);
    if status.conditions.is_empty() {
        status.conditions.push(condition(ConditionType::Created, &format!("{job} was created."), &now));
    }
    let kind = state.to_string();
    let of_state = |condition: &&mut JobCondition| condition.kind != "Created" && condition.status == "True";
    let is_same =
        status.conditions.iter().any(|condition| condition.kind == kind && condition.status == "True");
    if is_same {
        return;
    }
    for condition in status.conditions.iter_mut().filter(of_state) {
        condition.status = "False".to_owned();
        condition.last_update_time = Some(now.clone());
        condition.last_transition_time = Some(now.clone());
    }
    status.conditions.retain(|condition| condition.kind != kind);
    let mut new = condition(state, &text, &now);
    match state {
        ConditionType::Failed => {
            if let Some(reason) = reason {
                (*reason).clone_into(&mut new.reason);
            }
            events.push(Event::warning("IPUJobFailed", &status.last_message));
        }
        ConditionType::Succeeded => events.push(Event::normal("IPUJobSucceeded", &status.last_message)),
        _ => {}
    }
    status.conditions.push(new);
}

fn condition(kind: ConditionType, message: &str, now: &Time) -> JobCondition {
    JobCondition {
        kind: kind.to_string(),
        status: "True".to_owned(),
        reason: format!("IPUJob{kind}"),
        message: message.to_owned(),
        last_update_time: Some(now.clone()),
        last_transition_time: Some(now.clone()),
    }
}
