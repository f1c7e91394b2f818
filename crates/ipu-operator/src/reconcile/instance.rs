//! One instance of a job: what its facts demand to decide.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::after;
use super::end::end;
use super::names::JobNames;
use super::pod_facts::{PodFacts, Role};
use super::restart::End;
use super::seen::{Partition, Seen, Settings};
use crate::admission::JobShape;
use crate::api::{InstanceState, InstanceStatus, IpuJob, Outcome};

/// The job of an instance, and all that is known of it.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) job: &'a IpuJob,
    pub(super) shape: JobShape,
    pub(super) seen: &'a Seen,
    pub(super) settings: &'a Settings,
}

/// The news of an instance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// None, or only a change of its message.
    None,
    /// It has its partition for the first time in this run.
    Started,
    /// All its Pods run.
    Running,
    /// The run has ended.
    Ended(End),
    /// Its Pods could not start, and it gives its IPUs back for a while.
    Blocked(String),
    /// A Pod seems to be gone. The Pods have to be read once more.
    Look,
}

impl<'a> Facts<'a> {
    /// Whether instances have a launcher or a session beside their workers.
    pub(super) fn has_launcher(&self) -> bool {
        self.job.spec.launcher.is_some() || self.job.spec.interactive.is_some()
    }

    /// The parts of an instance, in the order in which their Pods are made.
    pub(super) fn roles(&self) -> impl Iterator<Item = Role> + use<> {
        let launcher = self.has_launcher().then_some(Role::Launcher);
        (0..self.shape.workers).map(Role::Worker).chain(launcher)
    }

    pub(super) fn name(&self, instance: u32, role: Role) -> String {
        JobNames::of(self.job).pod(instance, role, self.shape.workers)
    }

    /// The Pods of an instance's present run.
    pub(super) fn pods(&self, instance: &InstanceStatus) -> impl Iterator<Item = &'a PodFacts> + use<'a> {
        let (number, run) = (instance.instance, instance.run);
        self.seen.pods_of(number).filter(move |pod| pod.run == run)
    }

    /// Decides about an instance that has not ended, and notes it in its status.
    pub(super) fn advance(&self, instance: &mut InstanceStatus) -> News {
        let is_under_way = matches!(instance.state, InstanceState::Starting | InstanceState::Running);
        match self.seen.partitions.get(&instance.instance) {
            Some(Partition::Ready(ready)) if ready.run == instance.run => self.advance_ready(instance),
            Some(Partition::Broken { reason }) if is_under_way => {
                News::Ended(End::failed(None, format!("its partition cannot be used: {reason}")))
            }
            None | Some(Partition::Ending) if is_under_way => {
                News::Ended(End::failed(None, "its partition is gone"))
            }
            partition => {
                if instance.state == InstanceState::Leaving {
                    instance.state = InstanceState::Waiting;
                }
                self.wait(instance, partition);
                News::None
            }
        }
    }

    fn wait(&self, instance: &mut InstanceStatus, partition: Option<&Partition>) {
        let ipus = vipu_types::Ipus(self.shape.ipus);
        let pause = instance.not_before.as_ref().filter(|until| until.0 > self.seen.now);
        instance.message = match partition {
            _ if pause.is_some() => return,
            Some(Partition::Waiting { reason }) => reason.clone(),
            Some(Partition::Creating) => format!("its partition of {ipus} is being made"),
            Some(Partition::Broken { reason }) => reason.clone(),
            Some(Partition::Ending) => "its earlier partition is being removed".to_owned(),
            Some(Partition::Ready(_)) => {
                let holder = self.seen.pods_of(instance.instance).find(|pod| !pod.is_over());
                holder.map_or_else(|| "its partition is to be reset".to_owned(), PodFacts::holds_ipus)
            }
            None => format!("it waits for {ipus}"),
        };
    }

    fn advance_ready(&self, instance: &mut InstanceStatus) -> News {
        if let Some(end) = end(self, instance) {
            return News::Ended(end);
        }
        let has_started = |role| self.pods(instance).any(|pod| pod.role == role && pod.has_started());
        if self.roles().all(has_started) {
            let is_news = instance.state != InstanceState::Running;
            instance.state = InstanceState::Running;
            instance.running_since.get_or_insert(Time(self.seen.now));
            instance.starting_since = None;
            instance.blocked_tries = 0;
            instance.not_before = None;
            instance.message = "it runs".to_owned();
            return if is_news { News::Running } else { News::None };
        }
        if instance.state == InstanceState::Running {
            let missing = self.roles().find(|role| !has_started(*role));
            let name = missing.map(|role| self.name(instance.instance, role)).unwrap_or_default();
            let lost = || News::Ended(End::failed(None, format!("Pod {name} was deleted")));
            return if self.seen.is_fresh { lost() } else { News::Look };
        }
        self.start(instance)
    }

    /// The Pods of a run are being started. They have a bounded time.
    fn start(&self, instance: &mut InstanceStatus) -> News {
        let is_news = instance.state != InstanceState::Starting;
        instance.state = InstanceState::Starting;
        let since = instance.starting_since.get_or_insert(Time(self.seen.now)).0;
        let (reason, patience) = self.start_trouble(instance);
        instance.message = reason.clone().unwrap_or_else(|| "its Pods are being started".to_owned());
        if self.seen.now < after(since, patience) {
            return if is_news { News::Started } else { News::None };
        }
        let reason = reason.unwrap_or_else(|| format!("its Pods did not start within {patience} s"));
        let doubled = self.settings.pause.saturating_mul(1 << instance.blocked_tries.min(16));
        let until = after(self.seen.now, doubled.min(self.settings.longest_pause));
        *instance = InstanceStatus {
            instance: instance.instance,
            run: instance.run + 1,
            blocked_tries: instance.blocked_tries + 1,
            not_before: Some(Time(until)),
            message: format!("its IPUs are given back until {until}, as {reason}"),
            ..InstanceStatus::default()
        };
        News::Blocked(reason)
    }

    /// Why a run does not start, and the seconds that it has.
    pub(super) fn start_trouble(&self, instance: &InstanceStatus) -> (Option<String>, i64) {
        let refused = self.roles().find_map(|role| {
            let name = self.name(instance.instance, role);
            let words = self.seen.refused_pods.get(&name)?;
            Some(format!("Pod {name} is refused: {words}"))
        });
        if refused.is_some() {
            return (refused, self.settings.refused_patience);
        }
        let stuck = self.pods(instance).find_map(|pod| {
            let reason = pod.reason.as_ref().filter(|_| !pod.has_started())?;
            Some(format!("Pod {} cannot start: {reason}", pod.name))
        });
        (stuck, self.settings.start_patience)
    }
}

/// Notes that an instance has ended for good.
pub(super) fn finish(instance: &mut InstanceStatus, outcome: Outcome, message: &str, now: Timestamp) {
    instance.state = InstanceState::Ended;
    instance.outcome = Some(outcome);
    instance.ended = Some(Time(now));
    message.clone_into(&mut instance.message);
    instance.starting_since = None;
    instance.not_before = None;
}
