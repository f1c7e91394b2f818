//! The create call: whether a partition may be made under its id, and the meaning of the answer for this job, for other
//! jobs and for the controller.
//!
//! Two clusters may share a controller and a prefix, and calls for an id may take effect late.

use std::rc::Rc;

use ledger::Event;
use tokio::task::spawn_local;
use tokio::time::timeout;
use vipu_types::{PodId, Words, words};

use super::wait_for_consent::REFUSED_PAUSE;
use super::{Create, Presence, Setback};
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::pod_in_use::PodInUse;
use crate::refusing_controller::Fault;
use crate::shared_state::SharedState;
use crate::tracked::PartitionOwner;
use crate::{Controller, CreateRequest, Environment, Failure, PartitionState};

impl<W: Environment> Create<'_, W> {
    /// Fails if an earlier call for this id may still hit the new partition.
    pub(super) fn id_is_good(&self) -> Result<(), Stop> {
        if self.tracked.is_spent(self.claim) { Err(Stop::IdSpent) } else { Ok(()) }
    }

    /// Makes sure that no other cluster has a partition of this id on the controller.
    pub(super) async fn id_is_free(&mut self) -> Result<(), Setback> {
        match self.status().await? {
            PartitionState::Absent => Ok(()),
            // The name will be free, whoever had it.
            PartitionState::Removing | PartitionState::Removed => self.gone().await,
            _ => Err(self.is_of_others().into()),
        }
    }

    fn is_of_others(&self) -> Stop {
        let (controller, partition) = (self.pod.controller.name(), &self.claim.partition);
        let advice = "this cluster's journal does not have it; the administrator removes it, or sets another PartitionPrefix";
        Stop::Failed(words!(
            "controller {controller}: partition {partition}: there is one of this id: {advice}"
        ))
    }

    /// Confirms that this slurmctld is in charge, before a call without a journal entry of its own. A successor may
    /// have made a partition of this id by now.
    pub(super) async fn still_in_charge(&mut self) -> Result<(), Setback> {
        let confirmed = self.deadline.hold(self.shared.resources.confirm()).await?;
        confirmed.map_err(|error| Setback::Again(Words::of(error), Counts::Never))
    }

    /// Asks for the partition. The call runs to its end even if the deadline passes meanwhile, because a
    /// remove must not overtake it.
    pub(super) async fn call(&mut self) -> Result<(), Setback> {
        let settings = &self.pod.settings;
        let request = CreateRequest {
            partition: &self.claim.partition,
            size: self.claim.size,
            domain_size: settings.domain_size,
            shape: self.claim.shape.by_site(settings.reconfigurable),
            ipus: &self.claim.ipus,
            cluster: settings.cluster.as_deref(),
            allocation: settings.allocation.as_deref(),
        };
        // The owner is Ours until the answer is known. If this program fails meanwhile, the partition has to
        // be removed.
        let before = self.tracked.owner.replace(PartitionOwner::Ours);
        self.tracked.calls.sent();
        let Err(error) = self.pod.controller.create(&request).await else {
            self.tracked.calls.accepted();
            self.consent();
            failpoints::hold!("create_acknowledged");
            self.look_first();
            return Ok(());
        };
        self.tracked.owner.set(before);
        match error.failure {
            Failure::Refused => return Err(self.refused(error.message)),
            Failure::Exists if self.tracked.owner.get() == PartitionOwner::Ours => {
                self.tracked.calls.seen();
                self.look_first();
                return Ok(());
            }
            // The owner may be removing the partition just now.
            Failure::Exists => self.id_is_free().await?,
            // Nothing was sent, so there is no effect.
            Failure::NotSent => {}
            // No job is at fault. The survey holds back the other jobs, and this one has its CreateTimeout.
            Failure::Stranger => drop(self.shared.survey(&self.claim.pod())),
            Failure::NoRoom => {
                self.shared.environment.report(Event::NoRoom(self.claim.partition.clone()));
                self.shared.survey(&self.claim.pod());
            }
            Failure::Failed => self.look_first(),
            Failure::Unclear => {
                self.look_first();
                self.tracked.calls.not_answered();
            }
        }
        Err(error.into())
    }

    /// The consequence of a refusal for good. The job is at fault, unless the controller refuses other jobs
    /// too.
    fn refused(&self, words: Words) -> Setback {
        let Fault::OfTheController { is_news } = self.pod.observed.refusals.add(self.claim.run.job) else {
            return Stop::Failed(words).into();
        };
        if is_news {
            tracing::error!(
                "{words}; it refuses all jobs: they wait, and of each user one asks again now and then"
            );
            spawn_local(say_refused(
                Rc::clone(self.shared),
                Rc::clone(&self.pod),
                self.claim.pod(),
                words.clone(),
            ));
        }
        Setback::RefusesAll(words)
    }

    /// Notes that the controller makes a partition.
    fn consent(&self) {
        if self.pod.observed.refusals.success() {
            tracing::info!("controller {} makes partitions again", self.pod.controller.name());
        }
    }

    fn look_first(&mut self) {
        self.presence = Presence::MayExist;
        self.tracked.owner.set(PartitionOwner::Ours);
    }
}

/// Reports that a controller refuses all jobs, and repeats the report until that is over.
async fn say_refused<W: Environment>(
    shared: Rc<SharedState<W>>,
    pod: Rc<PodInUse<W::Controller>>,
    id: PodId,
    words: Words,
) {
    loop {
        shared.environment.report(Event::Refuses { pod: id.clone(), reason: Some(words.clone()) });
        if timeout(REFUSED_PAUSE, pod.observed.refusals.over()).await.is_ok() {
            return shared.environment.report(Event::Refuses { pod: id, reason: None });
        }
    }
}
