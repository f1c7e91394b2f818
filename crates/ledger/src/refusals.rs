//! What the refusals of a controller tell: it has no room for one partition, it refuses although its listing shows room,
//! or it refuses every partition.

use std::collections::BTreeMap;

use vipu_types::Words;

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

/// The first and the longest time in milliseconds for which an IPU is suspected.
const SHORTEST: u64 = 60_000;
const LONGEST: u64 = 600_000;

/// The suspects of one Pod, by the number of the IPU. The IPU to blame for a refusal is unknown, so no
/// suspicion lasts for ever. Each repeated one lasts longer, because a job is started in vain to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects(BTreeMap<usize, Suspicion>);

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    /// The duration of the suspicion. It is remembered for as long again.
    span: u64,
    until: Millis,
    is_over: bool,
}

impl Suspects {
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The present suspects.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter(|(_, suspicion)| !suspicion.is_over).map(|(ipu, _)| *ipu)
    }

    /// Adds a suspect.
    pub(crate) fn add(&mut self, now: Millis, ipu: usize) {
        let before = self.0.get(&ipu).filter(|before| before.is_over);
        let span = before.map_or(SHORTEST, |before| (2 * before.span).min(LONGEST));
        self.0.insert(ipu, Suspicion { span, until: Millis(now.0 + span), is_over: false });
    }

    /// Acquits the IPUs that are in use in a listing requested at that time, because they evidently work.
    /// Ends suspicions whose time is over.
    pub(crate) fn review(&mut self, asked: Millis, in_use: impl Fn(usize) -> bool) {
        self.0.retain(|ipu, suspicion| asked.0 < suspicion.until.0 + suspicion.span && !in_use(*ipu));
        self.0.values_mut().for_each(|suspicion| suspicion.is_over = suspicion.until <= asked);
    }
}

/// The number of minutes after which the counts begin anew, if no job asks.
const NEW_ROUND: u32 = 10;

/// A controller's refusals of every partition, and the jobs that asked all the same.
///
/// Some job has to ask now and then, or the end of the refusals would not be noticed. The request of one user may
/// itself be at fault. The jobs of each user are therefore counted separately, and at first one job may ask.
#[derive(Clone, Debug)]
pub(crate) struct RefusingController {
    pub(crate) reason: Words,
    /// The number of reports that it refuses. There is one a minute.
    said: u32,
    /// The number of jobs of each user that have asked since.
    asked: BTreeMap<u32, u32>,
}

impl RefusingController {
    /// The refusals at the first report.
    pub(crate) fn new(reason: Words) -> Self {
        Self { reason, said: 1, asked: BTreeMap::new() }
    }

    /// Takes a further report, a minute later. `is_asked` is whether a job asks at present. Returns whether
    /// more jobs may ask than before.
    pub(crate) fn said_again(&mut self, reason: Words, is_asked: bool) -> bool {
        let before = self.allowance();
        (self.reason, self.said) = (reason, self.said.saturating_add(1));
        // Some job has to find the end of the refusals. If all jobs that asked have left, others may ask.
        let begins_anew = !is_asked && self.said.is_multiple_of(NEW_ROUND);
        if begins_anew {
            self.asked.clear();
        }
        begins_anew || self.allowance() > before
    }

    /// Counts a job of this user that asks.
    pub(crate) fn asked_by(&mut self, user: u32) {
        *self.asked.entry(user).or_default() += 1;
    }

    /// The number of jobs of a user that may have asked by now. It grows by one each time the duration
    /// doubles. The request of the first job may be at fault, and the next one's not. Each job that asks
    /// holds nodes.
    fn allowance(&self) -> u32 {
        u32::BITS - self.said.leading_zeros()
    }

    /// Whether a job of this user may ask.
    pub(crate) fn lets_ask(&self, user: u32) -> bool {
        self.asked.get(&user).is_none_or(|asked| *asked < self.allowance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time for which an IPU is suspected from then on.
    fn span(suspects: &mut Suspects, now: u64) -> u64 {
        suspects.add(Millis(now), 7);
        let until = suspects.0[&7].until.0;
        suspects.review(Millis(until - 1), |_| false);
        assert!(suspects.all().eq([7]));
        suspects.review(Millis(until), |_| false);
        assert!(suspects.is_empty());
        until - now
    }

    #[test]
    fn repeated_suspicion_lasts_ever_longer() {
        let (mut suspects, mut now) = (Suspects::default(), 5);
        for expected in [60, 120, 240, 480, 600, 600] {
            let lasted = span(&mut suspects, now);
            assert_eq!(lasted, expected * 1000);
            now += lasted + 30_000;
        }
        now += 2 * LONGEST;
        suspects.review(Millis(now), |_| false);
        assert_eq!(span(&mut suspects, now), SHORTEST, "that was long ago");
    }

    #[test]
    fn each_ipu_is_suspected_for_itself() {
        let mut suspects = Suspects::default();
        suspects.add(Millis(0), 0);
        suspects.add(Millis(15_000), 32);
        suspects.review(Millis(SHORTEST + 500), |_| false);
        assert!(suspects.all().eq([32]));
        suspects.add(Millis(SHORTEST + 500), 0);
        suspects.review(Millis(3 * SHORTEST), |_| false);
        assert!(suspects.all().eq([0]));
    }

    #[test]
    fn an_ipu_in_use_is_acquitted() {
        let mut suspects = Suspects::default();
        [0, 32].into_iter().for_each(|ipu| suspects.add(Millis(0), ipu));
        suspects.review(Millis(1), |ipu| ipu == 32);
        assert!(suspects.all().eq([0]));
    }
}
