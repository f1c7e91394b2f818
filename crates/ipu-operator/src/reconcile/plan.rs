//! From the facts of a job to its steps.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::decide::{Decided, decide, refuse, shape};
use super::instance::Facts;
use super::pod_facts::{PodFacts, Role};
use super::seen::{Partition, Seen, Settings};
use super::step::{Event, Plan, Step};
use super::support::{Support, is_as_wanted};
use super::{after, clean};
use crate::api::{FINALIZER, InstanceState, InstanceStatus, IpuJob, IpuJobStatus};

/// What is to be done for a job.
pub fn plan(seen: &Seen, settings: &Settings) -> Plan {
    let mut planner = Planner { seen, settings, plan: Plan::default() };
    match &seen.job {
        Some(job) if job.metadata.deletion_timestamp.is_none() => planner.live(job),
        job => planner.end(job.as_ref()),
    }
    planner.plan
}

struct Planner<'a> {
    seen: &'a Seen,
    settings: &'a Settings,
    plan: Plan,
}

impl Planner<'_> {
    fn add(&mut self, step: Step) {
        self.plan.steps.push(step);
    }

    /// Plans again at this time, or earlier.
    fn again_at(&mut self, time: Timestamp) {
        if time > self.seen.now {
            self.plan.again_at = Some(self.plan.again_at.map_or(time, |before| before.min(time)));
        }
    }

    fn live(&mut self, job: &IpuJob) {
        if !has_finalizer(job) {
            self.add(Step::AddFinalizer);
        }
        let (facts, decided) = match shape(job) {
            Ok(shape) => {
                let facts = Facts { job, shape, seen: self.seen, settings: self.settings };
                (Some(facts), decide(&facts))
            }
            Err(why) => (None, refuse(job, self.seen, &why)),
        };
        self.record(job, &decided);
        if decided.needs_look {
            self.look();
        }
        let status = &decided.status;
        if let Some(facts) = facts.filter(|facts| status.completion_time.is_none() && facts.has_launcher()) {
            let is_made = |kind: &Support| {
                let wanted = kind.object(job, facts.shape);
                self.seen.support.get(kind).is_some_and(|object| is_as_wanted(object, &wanted))
            };
            let missing = Support::ALL.into_iter().filter(|kind| !is_made(kind)).map(Step::Apply);
            self.plan.steps.extend(missing);
        }
        // Those that go are the highest, and go from the highest one on.
        let leaves = |instance: &&InstanceStatus| instance.state == InstanceState::Leaving;
        for instance in status.instances.iter().rev().filter(leaves) {
            self.leave(instance);
        }
        for instance in status.instances.iter().filter(|instance| !leaves(instance)) {
            match (&facts, instance.outcome) {
                (Some(facts), None) => self.go_on(facts, instance),
                (None, None) => {}
                (_, Some(_)) => self.clean(job, instance),
            }
        }
        self.times(job, status, facts.as_ref());
    }

    /// Writes the status, if it says something new, and tells the events after that.
    fn record(&mut self, job: &IpuJob, decided: &Decided) {
        let mut status = decided.status.clone();
        let before = job.status.as_ref();
        status.last_reconcile_time = before.and_then(|before| before.last_reconcile_time.clone());
        if before == Some(&status) {
            return;
        }
        status.last_reconcile_time = Some(Time(self.seen.now));
        self.add(Step::SetStatus(Box::new(status)));
        self.plan.steps.extend(decided.events.iter().cloned().map(Step::Record));
    }

    fn look(&mut self) {
        if !self.plan.steps.contains(&Step::Look) {
            self.add(Step::Look);
        }
    }

    fn delete(&mut self, pod: &PodFacts) {
        if !pod.is_ending {
            self.add(Step::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() });
        }
    }

    /// Frees or resets the IPUs of an instance by this step, if none of its containers runs or can start.
    fn when_quiet(&mut self, instance: u32, step: Step) {
        if !self.seen.is_quiet(instance) {
            return;
        }
        if self.seen.is_fresh { self.add(step) } else { self.look() }
    }

    fn free(&mut self, instance: u32) {
        match self.seen.partitions.get(&instance) {
            None | Some(Partition::Ending) => {}
            Some(_) => self.when_quiet(instance, Step::Free { instance }),
        }
    }

    fn leave(&mut self, instance: &InstanceStatus) {
        let pods = self.seen.pods_of(instance.instance);
        pods.for_each(|pod| self.delete(pod));
        self.free(instance.instance);
    }

    /// The next steps of an instance that has not ended.
    fn go_on(&mut self, facts: &Facts<'_>, instance: &InstanceStatus) {
        let (number, run) = (instance.instance, instance.run);
        let of_earlier_runs = self.seen.pods_of(number).filter(|pod| pod.run != run);
        of_earlier_runs.for_each(|pod| self.delete(pod));
        let pauses = instance.not_before.as_ref().is_some_and(|until| until.0 > self.seen.now);
        let want = Step::Want { instance: number, run };
        match self.seen.partitions.get(&number) {
            Some(Partition::Ready(ready)) if ready.run == run => self.create_pods(facts, number),
            Some(Partition::Ready(_) | Partition::Broken { .. }) if !pauses => self.when_quiet(number, want),
            None if !pauses => self.add(want),
            Some(_) if pauses => self.free(number),
            Some(_) | None => {}
        }
    }

    /// Workers come before the launcher, whose account reaches them by name.
    fn create_pods(&mut self, facts: &Facts<'_>, instance: u32) {
        let exists = |role| {
            let name = facts.name(instance, role);
            self.seen.pods.iter().any(|pod| pod.name == name)
        };
        let missing: Vec<_> = facts.roles().filter(|role| !exists(*role)).collect();
        let has_workers = !missing.iter().any(|role| matches!(role, Role::Worker(_)));
        let now = missing.into_iter().filter(|role| has_workers || *role != Role::Launcher);
        self.plan.steps.extend(now.map(|role| Step::CreatePod { instance, role }));
    }

    /// The next steps of an instance that has ended.
    fn clean(&mut self, job: &IpuJob, instance: &InstanceStatus) {
        if let Some(until) = clean::kept_until(&job.spec, instance).filter(|until| *until > self.seen.now) {
            return self.again_at(until);
        }
        let (spec, settings) = (&job.spec, self.settings);
        let going = self.seen.pods_of(instance.instance).filter(|pod| clean::goes(spec, settings, pod));
        going.for_each(|pod| self.delete(pod));
        if !clean::keeps_ipus(spec, settings) {
            self.free(instance.instance);
        }
    }

    /// What happens by time alone.
    fn times(&mut self, job: &IpuJob, status: &IpuJobStatus, facts: Option<&Facts<'_>>) {
        if let Some(completion) = &status.completion_time {
            let ttl = job.spec.ttl_seconds_after_finished.map(|ttl| after(completion.0, ttl));
            match ttl {
                Some(time) if time <= self.seen.now => self.add(Step::DeleteJob),
                Some(time) => self.again_at(time),
                None => {}
            }
            return;
        }
        if let (Some(start), Some(seconds)) = (&status.start_time, job.spec.active_deadline_seconds) {
            self.again_at(after(start.0, seconds));
        }
        for instance in &status.instances {
            if let Some(until) = &instance.not_before {
                self.again_at(until.0);
            }
            if let (Some(since), Some(facts)) = (&instance.starting_since, facts) {
                self.again_at(after(since.0, facts.start_trouble(instance).1));
            }
            if let (Some(since), Some(session)) = (&instance.running_since, &job.spec.interactive) {
                self.again_at(after(since.0, session.ttl.into()));
            }
        }
    }

    /// The end of a job that was deleted, or is gone already.
    fn end(&mut self, job: Option<&IpuJob>) {
        let running = self.seen.pods.iter().filter(|pod| !pod.is_over());
        running.for_each(|pod| self.delete(pod));
        self.seen.partitions.keys().for_each(|instance| self.free(*instance));
        let Some(job) = job.filter(|job| has_finalizer(job)) else { return };
        self.tell_wait(job);
        if self.seen.partitions.is_empty() {
            return self.add(Step::RemoveFinalizer);
        }
        let Some(deleted) = &job.metadata.deletion_timestamp else { return };
        let until = after(deleted.0, self.settings.deletion_patience);
        if until > self.seen.now {
            return self.again_at(until);
        }
        let left = self.seen.partitions.len();
        let note = format!(
            "the job goes, and {left} of its partitions are not gone yet: kubectl get ipupartitions shows them, and \
             the operator removes them as soon as it can"
        );
        self.add(Step::Record(Event::warning("PartitionsLeft", &note)));
        self.add(Step::RemoveFinalizer);
    }

    /// Tells what a deleted job waits for.
    fn tell_wait(&mut self, job: &IpuJob) {
        let Some(mut status) = job.status.clone() else { return };
        let pod = self.seen.pods.iter().find(|pod| !pod.is_over());
        status.last_message = match pod {
            Some(pod) => format!("deleted; {}", pod.holds_ipus()),
            None => "deleted; its partitions are being removed".to_owned(),
        };
        if job.status.as_ref() != Some(&status) && !self.seen.partitions.is_empty() {
            self.plan.steps.insert(0, Step::SetStatus(Box::new(status)));
        }
    }
}

fn has_finalizer(job: &IpuJob) -> bool {
    job.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}
