//! The tries of a step of a create, and the pauses between them.

use std::time::Duration;

use super::{Create, Setback};
use crate::Environment;
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::pauses::Backoff;
use vipu_types::words;

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(10);

impl<W: Environment> Create<'_, W> {
    /// Repeats `attempt` until it succeeds or has failed too often.
    pub(super) async fn tries<T>(
        &mut self,
        mut attempt: impl AsyncFnMut(&mut Self) -> Result<T, Setback>,
    ) -> Result<T, Stop> {
        let mut backoff = Backoff::new(self.claim.partition.as_str(), RETRY_CAP);
        let mut failures = 0;
        loop {
            let (trouble, counts) = match attempt(self).await {
                Ok(done) => return Ok(done),
                Err(Setback::Stop(stop)) => return Err(stop),
                Err(Setback::Again(trouble, counts)) => (trouble, counts),
                Err(Setback::Trouble(trouble)) => {
                    self.trouble = trouble;
                    self.all_well().await?;
                    continue;
                }
                Err(Setback::RefusesAll(trouble)) => {
                    self.wait_for_consent(trouble).await?;
                    continue;
                }
            };
            self.trouble = trouble;
            if counts == Counts::IfOthersAreAnswered {
                self.shared.survey(&self.claim.pod());
            }
            let pause = backoff.next_pause();
            self.progress.failed(backoff.tries(), &self.trouble);
            if backoff.worth_a_line() {
                let (run, tries, trouble) = (self.claim.run, backoff.tries(), &self.trouble);
                tracing::warn!("{run}: try {tries}: {trouble}; trying again");
                self.shared.environment.tell(run, self.progress.reason());
            }
            self.deadline.pause(pause).await?;
            // The pause gave the survey time to show whether the controller answers others.
            failures += u32::from(match counts {
                Counts::Always => true,
                Counts::IfOthersAreAnswered => self.pod.observed.answers.get(),
                Counts::Never => false,
            });
            if failures > self.pod.settings.max_retries {
                let (partition, trouble) = (&self.claim.partition, &self.trouble);
                return Err(Stop::Failed(words!("partition {partition} failed {failures} times: {trouble}")));
            }
        }
    }
}
