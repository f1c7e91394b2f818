//! A controller had no room for the partition of a claim: since when, and whether its listings agree.

use crate::Millis;

/// For how many milliseconds a removal under way explains that a claim is refused. Elsewhere there is room by
/// then.
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

    /// The controller said it, maybe not for the first time. While IPUs are being cleared, that is no
    /// evidence against any.
    pub(crate) fn repeated(&mut self, now: Millis, is_being_cleared: bool) {
        if self.room_listed && !self.is_explained(now, is_being_cleared) {
            self.again.get_or_insert(now);
        }
    }

    /// Whether a listing asked for at that time shows what was in the way.
    pub(crate) fn is_seen_by(&self, asked: Millis) -> bool {
        self.since <= asked
    }

    fn is_explained(&self, now: Millis, is_being_cleared: bool) -> bool {
        is_being_cleared && now.0 < self.since.0 + EXPLAINED
    }

    /// A listing asked for at that time has room or has not; whether that contradicts the controller's
    /// refusals: there was room before the last of them, and is after it.
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
