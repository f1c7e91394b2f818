//! The choice of jobs that may still ask a controller that refuses every partition.

use vipu_types::{ControllerName, PodId};

use crate::pod::Pod;
use crate::refusing_controller::RefusingController;
use crate::{Action, HostAction, Jobs, Ledger, Wish};

impl Ledger {
    /// Notes that a controller refuses all jobs, for the first time or again, or that it no longer does.
    pub(crate) fn refuses(&mut self, id: &PodId, reason: Option<String>, todo: &mut Vec<Action>) {
        let before = self.largest_now(&id.model);
        let asking = self.claims.of_pod(id).filter(|(_, record)| record.phase.is_asked_for());
        let users: Vec<u32> = asking.map(|(_, record)| record.claim.user).collect();
        let Some(pod) = self.pods.get_mut(id) else { return };
        let may_more_ask = match (reason, &mut pod.refusing) {
            (Some(reason), Some(known)) => known.said_again(reason, !users.is_empty()),
            (Some(reason), None) => {
                pod.refusing = Some(RefusingController::new(reason));
                users.into_iter().for_each(|user| pod.asks(user));
                true
            }
            (None, _) => {
                pod.refusing = None;
                self.largest_now(&id.model) > before
            }
        };
        if may_more_ask {
            todo.push(Action::Host(HostAction::KickScheduler));
        }
    }

    /// A controller that refuses all jobs, but that this job may ask, and that has room for it.
    pub(crate) fn may_ask(&self, wish: &Wish, jobs: &impl Jobs) -> Option<ControllerName> {
        let model = self.models.get(&wish.model).filter(|model| self.usable(model).is_ok())?;
        let user = jobs.user_of(wish.job());
        let mut pods = model.pods().iter().filter_map(|id| Some((id, self.pods.get(id)?)));
        let has_room =
            |pod: &Pod| pod.free_blocks().has_room_for(wish.size) && wish.size.get() <= model.facts().largest;
        let lets_ask = |pod: &Pod| pod.refusing.as_ref().is_some_and(|refusing| refusing.lets_ask(user));
        let found = pods.find(|(id, pod)| {
            wish.may_use(&id.controller) && pod.is_reached() && lets_ask(pod) && has_room(pod)
        });
        found.map(|(id, _)| id.controller.clone())
    }
}
