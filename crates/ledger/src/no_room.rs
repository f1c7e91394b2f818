//! The fact that a controller had no room for the partition of a claim, with its time and the listings since.

use crate::Millis;

/// The time in milliseconds for which a removal under way explains a refusal. After that there is room
/// elsewhere.
const EXPLAINED: u64 = 60_000;

/// The fact that a controller had no room for the partition of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRoom {
    /// The time of the first refusal. An earlier listing does not show the obstacle.
    since: Millis,
    /// Whether a later listing shows room.
    room_listed: bool,
    /// The time of a refusal after such a listing.
    again: Option<Millis>,
}

impl NoRoom {
    pub(crate) fn new(now: Millis) -> Self {
        Self { since: now, room_listed: false, again: None }
    }

    /// Notes a refusal, the first or a further one. A refusal while IPUs are being freed is no evidence
    /// against any IPU.
    pub(crate) fn repeated(&mut self, now: Millis, is_being_cleared: bool) {
        if self.room_listed && !self.is_explained(now, is_being_cleared) {
            self.again.get_or_insert(now);
        }
    }

    /// Whether a listing requested at that time shows the obstacle.
    pub(crate) fn is_seen_by(&self, asked: Millis) -> bool {
        self.since <= asked
    }

    fn is_explained(&self, now: Millis, is_being_cleared: bool) -> bool {
        is_being_cleared && now.0 < self.since.0 + EXPLAINED
    }

    /// Takes a listing requested at that time. Returns whether it contradicts the refusals: there was room
    /// before the last refusal, and there is room after it.
    pub(crate) fn contradicted(&mut self, asked: Millis, has_room: bool, is_being_cleared: bool) -> bool {
        let has_room = has_room && !self.is_explained(asked, is_being_cleared);
        let contradicted = has_room && self.again.is_some_and(|again| again <= asked);
        if !has_room {
            self.again = None;
        }
        self.room_listed = has_room;
        contradicted
    }
}
