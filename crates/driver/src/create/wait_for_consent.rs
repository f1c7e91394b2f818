//! A create on a controller that refuses all jobs: it waits, or goes to another controller.

use std::rc::Rc;
use std::time::Duration;
use vipu_types::Words;

use tokio::time::sleep;
use vipu_types::PodId;

use super::Create;
use crate::Environment;
use crate::create_deadline::Stop;
use crate::pod_in_use::ObservedController;

/// The pause between two tries on a controller that refuses all jobs.
pub(super) const REFUSED_PAUSE: Duration = Duration::from_secs(60);

impl<W: Environment> Create<'_, W> {
    /// Waits until the controller makes a partition for another job, and asks again now and then, because no
    /// other job may ask. If another controller of the model works, a job that has waited for a while is put
    /// off. It may get its partition there.
    pub(super) async fn wait_for_consent(&mut self, trouble: Words) -> Result<(), Stop> {
        self.trouble = trouble;
        if self.progress.refused(&self.trouble) {
            self.shared.environment.tell(self.claim.run, self.progress.reason());
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
        if has_waited && self.another_controller_works() {
            return Err(Stop::PutOff(self.trouble.clone()));
        }
        self.reconfigured();
        Ok(())
    }

    /// Whether another controller of the model answers and does not refuse all jobs.
    fn another_controller_works(&self) -> bool {
        let own = self.claim.pod();
        let works = |it: &ObservedController| it.answers.get() && !it.refusals.refuses_all();
        let is_other = |id: &PodId| *id != own && id.model == own.model;
        self.shared.listed().iter().any(|pod| is_other(&pod.id) && works(&pod.observed))
    }
}
