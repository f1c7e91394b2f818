//! IPUs that cannot be used, to go by what a controller refuses.

use std::collections::BTreeMap;

use crate::Millis;

/// How long an IPU is suspected the first time, and the longest.
const SHORTEST: u64 = 60_000;
const LONGEST: u64 = 600_000;

/// The suspects of one Pod. Nobody knows which IPU is to blame for a refusal, so none is suspected for ever; but the
/// longer each time, as a job is started in vain to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    /// Until when each is suspected, by the number of the IPU.
    until: BTreeMap<usize, Millis>,
    /// How long, and until when, those that came last are suspected.
    span: u64,
    end: Millis,
}

impl Suspects {
    pub(crate) fn is_empty(&self) -> bool {
        self.until.is_empty()
    }

    /// By number.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> {
        self.until.keys().copied()
    }

    /// There will be more suspects.
    pub(crate) fn begin(&mut self, now: Millis) {
        let is_over = self.end <= now;
        let is_long_ago = now.0.saturating_sub(self.end.0) > self.span;
        if is_long_ago || self.span == 0 {
            self.span = SHORTEST;
        } else if is_over {
            self.span = (2 * self.span).min(LONGEST);
        }
        self.end = Millis(now.0 + self.span);
    }

    /// One of them.
    pub(crate) fn add(&mut self, ipu: usize) {
        self.until.insert(ipu, self.end);
    }

    /// Acquits those that are in use in a listing asked for at that time, as they evidently work, and those that were
    /// suspected long enough.
    pub(crate) fn review(&mut self, asked: Millis, in_use: impl Fn(usize) -> bool) {
        self.until.retain(|ipu, until| *until > asked && !in_use(*ipu));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For how long an IPU is suspected from then on.
    fn span(suspects: &mut Suspects, now: u64) -> u64 {
        suspects.begin(Millis(now));
        suspects.add(7);
        let until = suspects.until[&7].0;
        suspects.review(Millis(until - 1), |_| false);
        assert!(suspects.all().eq([7]));
        suspects.review(Millis(until), |_| false);
        assert!(suspects.is_empty());
        until - now
    }

    #[test]
    fn what_is_suspected_again_and_again_is_suspected_ever_longer() {
        let (mut suspects, mut now) = (Suspects::default(), 5);
        for expected in [60, 120, 240, 480, 600, 600] {
            let lasted = span(&mut suspects, now);
            assert_eq!(lasted, expected * 1000);
            now += lasted + 30_000;
        }
        now += 2 * LONGEST;
        assert_eq!(span(&mut suspects, now), SHORTEST, "that was long ago");
    }

    #[test]
    fn more_suspects_of_the_same_time_are_no_repetition() {
        let mut suspects = Suspects::default();
        suspects.begin(Millis(0));
        suspects.add(0);
        suspects.begin(Millis(1000));
        suspects.add(32);
        suspects.review(Millis(SHORTEST + 500), |_| false);
        assert!(suspects.all().eq([32]));
    }

    #[test]
    fn what_is_in_use_works() {
        let mut suspects = Suspects::default();
        suspects.begin(Millis(0));
        [0, 32].into_iter().for_each(|ipu| suspects.add(ipu));
        suspects.review(Millis(1), |ipu| ipu == 32);
        assert!(suspects.all().eq([0]));
    }
}
