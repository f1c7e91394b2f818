//! What follows when a controller has no room for a partition.

use vipu_types::{IpuCount, PartitionId, PodId};

use crate::claims::Serial;
use crate::lifecycle::Signal;
use crate::pod::Occupant;
use crate::tenancy::Tenant;
use crate::{Action, Ledger, Millis};

/// For how many milliseconds a removal under way explains that a claim is refused. Elsewhere there is room by then.
const EXPLAINED: u64 = 60_000;

/// A controller had no room for the partition of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRoom {
    /// When it said so first. A listing from before does not show what was in the way.
    since: Millis,
    /// Whether there is room by a listing from after that.
    room_listed: bool,
    /// When it refused once more, in spite of that.
    again: Option<Millis>,
}

impl NoRoom {
    pub(crate) fn new(now: Millis) -> Self {
        Self { since: now, room_listed: false, again: None }
    }

    /// The controller said it, maybe not for the first time. While IPUs are being cleared, that is no evidence against any.
    pub(crate) fn repeated(&mut self, now: Millis, is_being_cleared: bool) {
        if self.room_listed && !self.is_explained(now, is_being_cleared) {
            self.again.get_or_insert(now);
        }
    }

    fn is_explained(&self, now: Millis, is_being_cleared: bool) -> bool {
        is_being_cleared && now.0 < self.since.0 + EXPLAINED
    }

    /// A listing asked for at that time has room or has not; whether that contradicts the controller's refusals: there
    /// was room before the last of them, and is after it.
    fn contradicted(&mut self, asked: Millis, has_room: bool, is_being_cleared: bool) -> bool {
        let has_room = has_room && !self.is_explained(asked, is_being_cleared);
        let contradicted = has_room && self.again.is_some_and(|again| again <= asked);
        if !has_room {
            self.again = None;
        }
        self.room_listed = has_room;
        contradicted
    }
}

const REFUSED: &str = "its controller refuses them although they look free";

impl Ledger {
    /// A controller had no room for a partition.
    pub(crate) fn refused(&mut self, now: Millis, partition: &PartitionId) {
        let Some((serial, record)) = self.claims.holder(partition) else { return };
        let pod = self.pods.get(&record.claim.pod());
        let is_being_cleared = pod.is_some_and(|pod| pod.is_being_cleared(now));
        self.claims.refused(now, serial, is_being_cleared);
    }

    /// Ends creates that a listing leaves no hope for. Their jobs wait in line, not with nodes in their hands.
    pub(crate) fn weigh_refusals(&mut self, now: Millis, id: &PodId, asked: Millis, todo: &mut Vec<Action>) {
        let in_vain = self.claims.of_pod(id).filter(|(_, record)| {
            record.phase.is_asked_for() && record.no_room.is_some_and(|no_room| no_room.since <= asked)
        });
        let in_vain: Vec<(Serial, IpuCount)> =
            in_vain.map(|(serial, record)| (serial, record.claim.size)).collect();
        for (serial, size) in in_vain {
            if let Some(why) = self.hopeless(now, id, asked, serial) {
                let reason = format!("no room for {size} IPUs on {id}: {why}");
                self.signal(now, serial, Signal::Hopeless(reason), todo);
            }
        }
    }

    /// Why a refused create will not succeed soon, if so.
    fn hopeless(&mut self, now: Millis, id: &PodId, asked: Millis, serial: Serial) -> Option<&'static str> {
        let pod = self.pods.get_mut(id)?;
        let stays = |who: Occupant| match who {
            Occupant::Partition(tenant) => tenant != Tenant::Leaving,
            Occupant::Claim(other, tenant) => other < serial && tenant != Tenant::Leaving,
            Occupant::Nobody => true,
        };
        if !pod.has_room(serial, stays)? {
            return Some(if pod.has_suspects() { REFUSED } else { "others have come to use it" });
        }
        // What is on its way out is worth waiting for.
        let has_room_now = pod.has_room(serial, |_| true)?;
        let is_being_cleared = pod.is_being_cleared(asked);
        if !self.claims.no_room(serial)?.contradicted(asked, has_room_now, is_being_cleared) {
            return None;
        }
        pod.suspect(now, serial);
        Some(REFUSED)
    }
}
