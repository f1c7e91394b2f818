//! The reset of an idle partition before another user gets it.

use tokio::time::timeout;

use super::{Create, Setback};
use crate::create_deadline::Stop;
use crate::make_idle::reset_to_active;
use crate::{Environment, remove};

impl<W: Environment> Create<'_, W> {
    /// Resets the partition, if that is still to be done. The journal has the new claim only after the reset:
    /// a slurmctld that starts meanwhile does not give the partition to the job. One that cannot be reset in
    /// half of the time limit is removed, and made anew. If the reset call was not answered, it might hit the
    /// new partition, which therefore gets another id.
    pub(super) async fn reset_first(&mut self) -> Result<(), Setback> {
        if !self.reset {
            return Ok(());
        }
        self.trouble = "the controller is still resetting it".into();
        self.still_in_charge().await?;
        let (run, partition) = (self.claim.run, &self.claim.partition);
        let reset = timeout(self.deadline.half(), reset_to_active(&self.pod, self.tracked, partition));
        let reset = self.deadline.hold(reset).await?;
        if let Err(why) = reset.unwrap_or_else(|_| Err("its reset takes too long".into())) {
            if self.tracked.stays.get() {
                return Err(self.not_given(&why).into());
            }
            self.id_is_good()?;
            tracing::warn!("{run}: partition {partition} is made anew: {why}");
            remove::call(&self.pod, self.tracked, partition).await?;
            self.gone().await?;
            self.may_exist = false;
        }
        self.reset = false;
        Ok(())
    }

    /// The end of an attempt to give the job a partition that stays. The job waits.
    pub(super) fn not_given(&self, why: &str) -> Stop {
        Stop::PutOff(format!("partition {} cannot be given to a job: {why}", self.on_controller()))
    }
}
