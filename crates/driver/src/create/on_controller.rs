//! The partition of a create on its controller: looked for, reset, removed if it is unusable, and waited for.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use vipu_types::{PartitionId, words};

use super::{Create, Presence, Setback};
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::make_idle::reset_to_active;
use crate::pauses::poll_pause;
use crate::{Controller, Environment, PartitionState, remove};

impl<W: Environment> Create<'_, W> {
    /// Resets the partition, if that is still to be done. The journal has the new claim only after the reset:
    /// a slurmctld that starts meanwhile does not give the partition to the job. One that cannot be reset in
    /// half of the time limit is removed. The reset might still come and hit a new partition of its id, so the job gets
    /// one with another id.
    pub(super) async fn reset_first(&mut self) -> Result<(), Setback> {
        let Presence::Idle { before, reset: true } = self.presence else { return Ok(()) };
        self.trouble = "the controller is still resetting it".into();
        self.still_in_charge().await?;
        let (run, partition) = (self.claim.run, &self.claim.partition);
        let reset = timeout(self.deadline.half(), reset_to_active(&self.pod, self.tracked, partition));
        let reset = self.deadline.hold(reset).await?;
        let Err(why) = reset.unwrap_or_else(|_| Err("its reset takes too long".into())) else {
            self.presence = Presence::Idle { before, reset: false };
            return Ok(());
        };
        if self.tracked.stays.get() {
            return Err(self.not_given(&why).into());
        }
        self.id_is_good()?;
        tracing::warn!("{run}: partition {partition} is made anew: {why}");
        remove::call(&self.pod, self.tracked, partition).await?;
        self.gone().await?;
        self.presence = Presence::Absent;
        Ok(())
    }

    /// The end of an attempt to give the job a partition that stays. The job waits.
    fn not_given(&self, why: &str) -> Stop {
        Stop::PutOff(words!("partition {} cannot be given to a job: {why}", self.on_controller()))
    }

    /// Whether an earlier call left a usable partition. An unusable one is removed.
    pub(super) async fn found(&mut self) -> Result<bool, Setback> {
        if self.presence == Presence::Absent {
            return Ok(false);
        }
        let state = self.status().await?;
        // A controller may show a partition that it never had as removed.
        if !matches!(state, PartitionState::Absent | PartitionState::Removed) {
            self.tracked.calls.seen();
        }
        match state {
            PartitionState::Pending | PartitionState::Active | PartitionState::Resetting => return Ok(true),
            _ if self.tracked.stays.get() => {
                return Err(self.not_given(&format!("it is {state:?}")).into());
            }
            PartitionState::Absent => {}
            PartitionState::Failed(_) => {
                self.still_in_charge().await?;
                remove::call(&self.pod, self.tracked, &self.claim.partition).await?;
                self.gone().await?;
            }
            PartitionState::Removing | PartitionState::Removed => self.gone().await?,
        }
        self.presence = Presence::Absent;
        Ok(false)
    }

    pub(super) async fn gone(&self) -> Result<(), Setback> {
        let gone = remove::confirm_gone(&self.pod, &self.claim.partition);
        self.deadline.hold(gone).await?.map_err(|words| Setback::Again(words, Counts::IfOthersAreAnswered))
    }

    /// Waits until the partition is active. Returns how long that took.
    pub(super) async fn active(&mut self) -> Result<Duration, Setback> {
        let (began, pod) = (Instant::now(), Rc::clone(&self.pod));
        let under_way = pod.under_way.begin();
        self.trouble = "the controller has not said how far it is".into();
        loop {
            self.trouble = match self.status().await? {
                PartitionState::Active => return Ok(began.elapsed()),
                PartitionState::Pending => "the controller is still making it".into(),
                PartitionState::Resetting => "the controller is still resetting it after an error".into(),
                PartitionState::Absent => return Err(self.again("it vanished while being made")),
                PartitionState::Removing | PartitionState::Removed => {
                    return Err(self.again("somebody is removing it"));
                }
                PartitionState::Failed(words) => {
                    return Err(self.again(&format!("it went into error: {words}")));
                }
            };
            let is_pending = async {
                loop {
                    let pause = poll_pause(began.elapsed(), pod.observed.usual.create(self.claim.size));
                    sleep(pause).await;
                    let partition = self.on_controller();
                    if !under_way.is_pending(&pod.controller, &pod.settings, partition, pause).await {
                        break;
                    }
                }
            };
            self.deadline.hold(is_pending).await?;
        }
    }

    pub(super) async fn status(&self) -> Result<PartitionState, Setback> {
        Ok(self.deadline.hold(self.pod.status(self.on_controller())).await??)
    }

    pub(super) fn on_controller(&self) -> &PartitionId {
        self.pod.on_controller(self.tracked, &self.claim.partition)
    }

    fn again(&self, words: &str) -> Setback {
        Setback::Again(words!("controller {}: {words}", self.pod.controller.name()), Counts::Always)
    }
}
