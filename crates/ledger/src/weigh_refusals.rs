//! The consequences of a controller's refusals: which creates are given up, and which jobs may still ask a controller
//! that refuses every partition.

use vipu_types::{ControllerName, IpuCount, PartitionId, PodId, Words, words};

use crate::claim::Serial;
use crate::ipu_holders::IpuHolder;
use crate::lifecycle::Signal;
use crate::pod::Pod;
use crate::pod::occupants::Occupant;
use crate::refusals::RefusingController;
use crate::{Action, HostAction, Jobs, Ledger, Millis, Wish};

const REFUSED: &str = "its controller refuses them although they look free";

impl Ledger {
    /// Notes that a controller had no room for a partition. Its idle partitions go.
    pub(crate) fn refused(&mut self, now: Millis, partition: &PartitionId, todo: &mut Vec<Action>) {
        let Some((serial, record)) = self.claims.holder(partition) else { return };
        let id = record.claim.pod();
        self.end_idle(now, todo, |_, claim, _| claim.pod() == id);
        let pod = self.pods.get(&id);
        let is_being_cleared = pod.is_some_and(|pod| pod.is_being_cleared(now));
        self.claims.refused(now, serial, is_being_cleared);
    }

    /// Ends creates for which a listing leaves no hope. Their jobs wait in line instead of holding nodes.
    pub(crate) fn weigh_refusals(&mut self, now: Millis, id: &PodId, asked: Millis, todo: &mut Vec<Action>) {
        let in_vain = self.claims.of_pod(id).filter(|(_, record)| {
            record.phase.is_asked_for() && record.no_room.is_some_and(|no_room| no_room.is_seen_by(asked))
        });
        let in_vain: Vec<(Serial, IpuCount)> =
            in_vain.map(|(serial, record)| (serial, record.claim.size)).collect();
        for (serial, size) in in_vain {
            if let Some(why) = self.hopeless(now, id, asked, serial) {
                let reason = words!("no room for {size} IPUs on {id}: {why}");
                self.signal(now, serial, Signal::Hopeless(reason), todo);
            }
        }
    }

    /// The reason why a refused create will not succeed soon, if there is one.
    fn hopeless(&mut self, now: Millis, id: &PodId, asked: Millis, serial: Serial) -> Option<&'static str> {
        let pod = self.pods.get_mut(id)?;
        let stays = |who: Occupant| match who {
            Occupant::Partition(holder) => holder != IpuHolder::Leaving,
            Occupant::Claim(other, holder) => other < serial && holder != IpuHolder::Leaving,
            Occupant::Drained(_) | Occupant::Nobody => true,
        };
        if !pod.has_room(serial, stays)? {
            return Some(if pod.has_suspects() { REFUSED } else { "others have come to use it" });
        }
        // IPUs that are being freed are worth waiting for.
        let has_room_now = pod.has_room(serial, |_| true)?;
        let is_being_cleared = pod.is_being_cleared(asked);
        if !self.claims.no_room(serial)?.contradicted(asked, has_room_now, is_being_cleared) {
            return None;
        }
        pod.suspect(now, serial);
        Some(REFUSED)
    }

    /// Notes that a controller refuses all jobs, for the first time or again, or that it no longer does.
    pub(crate) fn refuses(&mut self, id: &PodId, reason: Option<Words>, todo: &mut Vec<Action>) {
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
        let mut pods = self.pods_among(model, wish.controllers.as_ref());
        let has_room =
            |pod: &Pod| pod.free_blocks().has_room_for(wish.size) && wish.size.get() <= model.facts().largest;
        let lets_ask = |pod: &Pod| pod.refusing.as_ref().is_some_and(|refusing| refusing.lets_ask(user));
        let found = pods.find(|(_, pod)| pod.is_reached() && lets_ask(pod) && has_room(pod));
        found.map(|(id, _)| id.controller.clone())
    }
}
