//! The tries of a step of a create, and the pauses between them.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::sleep;
use vipu_types::{Words, words};

use super::{Create, Setback};
use crate::Environment;
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::pauses::Backoff;

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(10);

/// The pause between two tries on a controller that refuses all jobs.
pub(super) const REFUSED_PAUSE: Duration = Duration::from_secs(60);

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
                self.shared.environment.tell(run, self.progress.line());
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

    /// Waits until the controller makes a partition for another job, and asks again now and then, because no
    /// other job may ask. If another controller of the model works, a job that has waited for a while is put
    /// off. It may get its partition there.
    async fn wait_for_consent(&mut self, trouble: Words) -> Result<(), Stop> {
        self.trouble = trouble;
        if self.progress.refused(&self.trouble) {
            self.shared.environment.tell(self.claim.run, self.progress.line());
        }
        let (observed, news) = (Rc::clone(&self.pod.observed), self.shared.resources.news());
        let seen = news.count();
        let consent = async {
            tokio::select! {
                biased;
                () = observed.refusals.over() => false,
                () = news.after(seen) => false,
                () = sleep(REFUSED_PAUSE) => true,
            }
        };
        let has_waited = self.deadline.hold_unhurried(consent).await?;
        if has_waited && self.shared.has_other(&self.claim.pod()) {
            return Err(Stop::PutOff(self.trouble.clone()));
        }
        self.reconfigured();
        Ok(())
    }
}
