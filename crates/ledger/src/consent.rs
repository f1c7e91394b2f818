//! A controller that answers, and refuses partitions to whoever asks.
//!
//! Somebody has to ask now and then, or nobody would learn that it is over. What one user asks for may be at fault itself,
//! so each user's jobs are let ask on their own, one at first.

use std::collections::BTreeMap;

use vipu_types::{ControllerName, PodId};

use crate::plan::{Jobs, Wish};
use crate::pod::Pod;
use crate::{Action, Ledger};

/// After so many minutes each user may ask from the beginning, if nobody asks.
const NEW_ROUND: u32 = 10;

/// What a controller says that refuses whoever asks.
#[derive(Clone, Debug)]
pub(crate) struct Refusing {
    pub(crate) reason: String,
    /// How often it was said that it does: once a minute.
    said: u32,
    /// How many jobs of each user have asked since.
    asked: BTreeMap<u32, u32>,
}

impl Refusing {
    /// How many jobs of a user may have asked by now: twice the time, one more. The first may be refused for what it
    /// asks for, with one behind it that would not be; and each that asks has nodes in its hands.
    fn allowance(&self) -> u32 {
        u32::BITS - self.said.leading_zeros()
    }

    fn lets_ask(&self, user: u32) -> bool {
        self.asked.get(&user).is_none_or(|asked| *asked < self.allowance())
    }
}

impl Pod {
    /// Whether the controller refuses whoever asks.
    pub(crate) fn refuses_all(&self) -> bool {
        self.refusing.is_some()
    }

    /// A job of this user asks.
    pub(crate) fn asks(&mut self, user: u32) {
        if let Some(refusing) = &mut self.refusing {
            *refusing.asked.entry(user).or_default() += 1;
        }
    }
}

impl Ledger {
    /// A controller refuses whoever asks, as was said before or not; or it does not any more.
    pub(crate) fn refuses(&mut self, id: &PodId, reason: Option<String>, todo: &mut Vec<Action>) {
        let before = self.largest_now(&id.model);
        let asking = self.claims.of_pod(id).filter(|(_, record)| record.phase.is_asked_for());
        let users: Vec<u32> = asking.map(|(_, record)| record.claim.user).collect();
        let Some(pod) = self.pods.get_mut(id) else { return };
        let (known, is_over) = (pod.refusing.take(), reason.is_none());
        let allowed = known.as_ref().map(Refusing::allowance);
        let said = known.as_ref().map_or(1, |known| known.said.saturating_add(1));
        // Somebody has to find out that it is over: where all have left who asked, others may.
        let begins_anew = users.is_empty() && said.is_multiple_of(NEW_ROUND);
        pod.refusing = reason.map(|reason| {
            let asked = known.filter(|_| !begins_anew).map(|known| known.asked).unwrap_or_default();
            Refusing { reason, said, asked }
        });
        if allowed.is_none() {
            users.into_iter().for_each(|user| pod.asks(user));
        }
        let may_more_ask = begins_anew || pod.refusing.as_ref().map(Refusing::allowance) > allowed;
        if may_more_ask || is_over && self.largest_now(&id.model) > before {
            todo.push(Action::KickScheduler);
        }
    }

    /// A controller that refuses whoever asks, with room for a job that may ask it all the same.
    pub(crate) fn may_ask(&self, wish: &Wish, jobs: &impl Jobs) -> Option<ControllerName> {
        let model = self.models.get(&wish.model).filter(|model| self.usable(model).is_ok())?;
        let user = jobs.user_of(wish.job());
        let mut pods = model.pods().iter().filter_map(|id| Some((id, self.pods.get(id)?)));
        let has_room = |pod: &Pod| wish.size.get() <= pod.capacity().largest().min(model.facts().largest);
        let lets_ask = |pod: &Pod| pod.refusing.as_ref().is_some_and(|refusing| refusing.lets_ask(user));
        let found = pods.find(|(_, pod)| pod.is_reached() && lets_ask(pod) && has_room(pod));
        found.map(|(id, _)| id.controller.clone())
    }
}
