//! IPUs that count as unusable because of a controller's refusals.

use std::collections::BTreeMap;

use crate::Millis;

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
