//! IPUs that cannot be used, to go by what a controller refuses.

use std::collections::BTreeMap;

use crate::Millis;

/// How long an IPU is suspected the first time, and the longest.
const SHORTEST: u64 = 60_000;
const LONGEST: u64 = 600_000;

/// The suspects of one Pod, by the number of the IPU. Nobody knows which IPU is to blame for a refusal, so
/// none is suspected for ever; but the longer each time, as a job is started in vain to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects(BTreeMap<usize, Suspicion>);

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    /// How long it lasts; it is remembered for as long again.
    span: u64,
    until: Millis,
    is_over: bool,
}

impl Suspects {
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Those of now.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter(|(_, suspicion)| !suspicion.is_over).map(|(ipu, _)| *ipu)
    }

    /// One more.
    pub(crate) fn add(&mut self, now: Millis, ipu: usize) {
        let before = self.0.get(&ipu).filter(|before| before.is_over);
        let span = before.map_or(SHORTEST, |before| (2 * before.span).min(LONGEST));
        self.0.insert(ipu, Suspicion { span, until: Millis(now.0 + span), is_over: false });
    }

    /// Acquits those that are in use in a listing asked for at that time, as they evidently work, and those
    /// that were suspected long enough.
    pub(crate) fn review(&mut self, asked: Millis, in_use: impl Fn(usize) -> bool) {
        self.0.retain(|ipu, suspicion| asked.0 < suspicion.until.0 + suspicion.span && !in_use(*ipu));
        self.0.values_mut().for_each(|suspicion| suspicion.is_over = suspicion.until <= asked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For how long an IPU is suspected from then on.
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
    fn what_is_suspected_again_and_again_is_suspected_ever_longer() {
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
    fn each_is_suspected_for_itself() {
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
    fn what_is_in_use_works() {
        let mut suspects = Suspects::default();
        [0, 32].into_iter().for_each(|ipu| suspects.add(Millis(0), ipu));
        suspects.review(Millis(1), |ipu| ipu == 32);
        assert!(suspects.all().eq([0]));
    }
}
