//! The reset of an idle partition before another user gets it.

use super::{Create, Setback};
use crate::make_idle::reset_to_active;
use crate::{Environment, remove};

impl<W: Environment> Create<'_, W> {
    /// Resets the partition, if that is still to be done. The journal has the new claim only after the reset:
    /// a slurmctld that starts meanwhile does not give the partition to the job. One that cannot be reset is
    /// removed, and made anew.
    pub(super) async fn reset_first(&mut self) -> Result<(), Setback> {
        if !self.reset {
            return Ok(());
        }
        self.trouble = "the controller is still resetting it".into();
        self.still_in_charge().await?;
        let (run, partition) = (self.claim.run, &self.claim.partition);
        let reset = reset_to_active(&self.pod, partition);
        if let Err(why) = self.deadline.hold(reset).await? {
            tracing::warn!("{run}: partition {partition} is made anew: {why}");
            remove::call(&self.pod, self.tracked, partition).await?;
            self.gone().await?;
            self.may_exist = false;
        }
        self.reset = false;
        Ok(())
    }
}
