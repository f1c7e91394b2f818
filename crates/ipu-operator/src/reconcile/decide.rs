//! The decisions that the facts of a job demand. They are made once, and kept in its status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::instance::{Facts, News, finish};
use super::restart::{End, restarts};
use super::step::Event;
use super::{after, show};
use crate::admission::{JobShape, LONGEST_NAME};
use crate::api::{InstanceState, InstanceStatus, IpuJob, IpuJobStatus, Outcome};

/// The reason of the condition Failed, unless a run failed.
const INVALID: &str = "InvalidSpec";
const DEADLINE: &str = "DeadlineExceeded";

/// The status of a job, with all decisions.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) status: IpuJobStatus,
    /// What users should see.
    pub(super) events: Vec<Event>,
    /// Whether a decision waits for Pods that were read for it.
    pub(super) needs_look: bool,
    /// The reason of a failure that is no program's.
    pub(super) reason: Option<&'static str>,
}

/// The numbers of a job that can run.
///
/// # Errors
/// Why it cannot. Only jobs that no webhook has seen are refused here.
pub(super) fn shape(job: &IpuJob) -> Result<JobShape, String> {
    if job.metadata.name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME) {
        return Err(format!("metadata.name: it may have {LONGEST_NAME} characters"));
    }
    JobShape::of(&job.spec).map_err(|verdict| verdict.line())
}

/// Decides about a job whose numbers are right.
pub(super) fn decide(facts: &Facts<'_>) -> Decided {
    let mut decided = begin(facts.job);
    if decided.status.completion_time.is_none() {
        decided.fit_instances(facts);
        decided.advance(facts);
        decided.check_deadline(facts);
        decided.finish(facts);
    }
    show::show(&mut decided, Some(facts), facts.job, facts.seen);
    decided
}

/// Decides about a job whose spec cannot be run. It fails.
pub(super) fn refuse(job: &IpuJob, seen: &super::Seen, why: &str) -> Decided {
    let mut decided = begin(job);
    if decided.status.completion_time.is_none() {
        decided.end_all(seen, INVALID, why);
        why.clone_into(&mut decided.status.last_message);
        decided.status.completion_time = Some(Time(seen.now));
    }
    show::show(&mut decided, None, job, seen);
    decided
}

fn begin(job: &IpuJob) -> Decided {
    let is_new = job.status.is_none();
    let mut decided = Decided { status: job.status.clone().unwrap_or_default(), ..Decided::default() };
    if is_new {
        decided.events.push(Event::normal("IPUJobCreated", "the operator has seen the job"));
    }
    decided
}

impl Decided {
    /// Adds the instances that are to be there, and lets those go that are too many.
    fn fit_instances(&mut self, facts: &Facts<'_>) {
        let instances = &mut self.status.instances;
        for instance in 0..facts.shape.instances {
            if instances.iter().all(|known| known.instance != instance) {
                instances.push(InstanceStatus { instance, ..InstanceStatus::default() });
            }
        }
        instances.sort_by_key(|instance| instance.instance);
        for instance in instances.iter_mut().filter(|instance| instance.instance >= facts.shape.instances) {
            if instance.state != InstanceState::Leaving {
                // Its Pods are of a run that is over, also if the instance is wanted again before they are gone.
                *instance = InstanceStatus {
                    instance: instance.instance,
                    run: instance.run + 1,
                    state: InstanceState::Leaving,
                    ..InstanceStatus::default()
                };
            }
        }
        let seen = facts.seen;
        instances.retain(|instance| {
            let number = instance.instance;
            number < facts.shape.instances
                || seen.partitions.contains_key(&number)
                || seen.pods_of(number).next().is_some()
        });
    }

    fn advance(&mut self, facts: &Facts<'_>) {
        let mut instances = std::mem::take(&mut self.status.instances);
        for instance in &mut instances {
            if instance.outcome.is_some() || instance.instance >= facts.shape.instances {
                continue;
            }
            let number = instance.instance;
            let news = facts.advance(instance);
            if matches!(instance.state, InstanceState::Starting | InstanceState::Running) {
                self.status.start_time.get_or_insert(Time(facts.seen.now));
            }
            match news {
                News::None => {}
                News::Look => self.needs_look = true,
                News::Started => self.tell("PartitionReady", number, "has its IPUs"),
                News::Running => self.tell("InstanceStarted", number, "runs"),
                News::Blocked(reason) => {
                    let text = format!("instance {number} gives its IPUs back for a while: {reason}");
                    self.events.push(Event::warning("PodsCannotStart", &text));
                }
                News::Ended(end) => self.end(facts, instance, &end),
            }
        }
        self.status.instances = instances;
    }

    fn tell(&mut self, reason: &'static str, instance: u32, text: &str) {
        self.events.push(Event::normal(reason, &format!("instance {instance} {text}")));
    }

    /// A run of an instance has ended: it begins again, or that was its last one.
    fn end(&mut self, facts: &Facts<'_>, instance: &mut InstanceStatus, end: &End) {
        let number = instance.instance;
        let text = format!("instance {number}: {}", end.message);
        if restarts(&facts.job.spec, end, self.status.restart_count) {
            self.status.restart_count += 1;
            *instance = InstanceStatus {
                instance: number,
                run: instance.run + 1,
                state: InstanceState::Restarting,
                message: end.message.clone(),
                ..InstanceStatus::default()
            };
            let limit = facts.job.spec.restart_policy.back_off_limit;
            let text = format!("{text}; restart {} of {limit} at most", self.status.restart_count);
            return self.events.push(Event::warning("IPUJobRestarting", &text));
        }
        finish(instance, end.outcome, &end.message, facts.seen.now);
        self.events.push(match end.outcome {
            Outcome::Succeeded => Event::normal("InstanceSucceeded", &text),
            Outcome::Failed => Event::warning("InstanceFailed", &text),
        });
    }

    fn check_deadline(&mut self, facts: &Facts<'_>) {
        let Some(seconds) = facts.job.spec.active_deadline_seconds else { return };
        let Some(start) = &self.status.start_time else { return };
        if after(start.0, seconds) <= facts.seen.now {
            let text = format!("its longest run of {seconds} s (activeDeadlineSeconds) is over");
            self.end_all(facts.seen, DEADLINE, &text);
        }
    }

    /// All instances that go on fail.
    fn end_all(&mut self, seen: &super::Seen, reason: &'static str, text: &str) {
        self.reason = Some(reason);
        let goes_on = |instance: &&mut InstanceStatus| {
            instance.outcome.is_none() && instance.state != InstanceState::Leaving
        };
        for instance in self.status.instances.iter_mut().filter(goes_on) {
            finish(instance, Outcome::Failed, text, seen.now);
        }
        self.events.push(Event::warning(reason, text));
    }

    fn finish(&mut self, facts: &Facts<'_>) {
        let wanted = |instance: &&InstanceStatus| instance.instance < facts.shape.instances;
        if self.status.instances.iter().filter(wanted).all(|instance| instance.outcome.is_some()) {
            self.status.completion_time = Some(Time(facts.seen.now));
        }
    }
}
