//! The pauses between looks and between tries.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The longest pause between two tries of work that is never given up.
pub(crate) const RETRY_CAP: Duration = Duration::from_secs(30);

const SHORTEST_POLL: Duration = Duration::from_millis(10);
/// The shortest pause around the usual time.
const SHORTEST_DUE_POLL: Duration = Duration::from_millis(3);
const LONGEST_POLL: Duration = Duration::from_secs(1);

/// The pause before the next look at work that has taken `elapsed` until now. Quick work is noticed quickly,
/// and slow work is not asked for often.
///
/// Around `usual`, the duration of the last create, looks are five times as frequent. Creates of one
/// controller take similar times, and a job waits for the look that finds its partition ready. A pause is at
/// most a quarter of the time to the usual moment or since then, so that the looks are closest together there.
pub(crate) fn poll_pause(elapsed: Duration, usual: Option<Duration>) -> Duration {
    let is_due = usual.is_some_and(|usual| (usual * 9 / 10..usual * 3 / 2).contains(&elapsed));
    let pause = (elapsed / if is_due { 200 } else { 40 }).clamp(SHORTEST_POLL, LONGEST_POLL);
    let to_usual = usual.map_or(Duration::MAX, |usual| usual.abs_diff(elapsed));
    pause.min((to_usual / 4).max(SHORTEST_DUE_POLL))
}

/// An exponential backoff with jitter.
///
/// The jitter is calculated from a name and the number of the try. It spreads many partitions as well as
/// chance does, and a simulation can be repeated.
pub(crate) struct Backoff<'a> {
    name: &'a str,
    tries: u32,
    cap: Duration,
}

impl<'a> Backoff<'a> {
    const FIRST: Duration = Duration::from_millis(250);

    /// A backoff for the retries of `name`, at most `cap` apart.
    pub fn new(name: &'a str, cap: Duration) -> Self {
        Self { name, tries: 0, cap }
    }

    /// Counts a failed try and returns the pause after it: between half and all of the exponential step.
    pub fn next_pause(&mut self) -> Duration {
        let step = Self::FIRST.saturating_mul(1 << self.tries.min(20)).min(self.cap);
        self.tries += 1;
        let mut hasher = DefaultHasher::new();
        (self.name, self.tries).hash(&mut hasher);
        let share = u32::try_from(hasher.finish() >> 33).unwrap_or(u32::MAX);
        step / 2 + (step / 2).mul_f64(f64::from(share) / f64::from(1_u32 << 31))
    }

    /// The number of failed tries so far.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// Whether the last failure deserves a line in the log: the first does, later ones ever more rarely.
    pub fn worth_a_line(&self) -> bool {
        self.tries.is_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_noticed_within_a_fortieth() {
        let unknown = |elapsed| poll_pause(elapsed, None);
        assert_eq!(unknown(Duration::ZERO), SHORTEST_POLL);
        assert_eq!(unknown(Duration::from_secs(2)), Duration::from_millis(50));
        assert_eq!(unknown(Duration::from_secs(3600)), LONGEST_POLL);
    }

    #[test]
    fn an_end_that_is_due_is_noticed_sooner() {
        let usual = Some(Duration::from_secs(60));
        assert_eq!(poll_pause(Duration::from_secs(50), usual), LONGEST_POLL);
        assert_eq!(poll_pause(Duration::from_secs(70), usual), Duration::from_millis(350));
        assert_eq!(poll_pause(Duration::from_secs(60), usual), SHORTEST_DUE_POLL);
        assert_eq!(poll_pause(Duration::from_secs(100), usual), LONGEST_POLL);
    }

    /// The moments of the looks at work that takes `took`, the last of which finds it done.
    fn looks(took: Duration, usual: Option<Duration>) -> Vec<Duration> {
        let next = |elapsed: &Duration| (*elapsed < took).then(|| *elapsed + poll_pause(*elapsed, usual));
        std::iter::successors(Some(Duration::ZERO), next).collect()
    }

    #[test]
    fn an_end_at_the_usual_time_is_noticed_within_milliseconds_for_few_more_looks() {
        for millis in [100, 500, 2_000, 10_000, 60_000] {
            let (took, jitter) = (Duration::from_millis(millis), Duration::from_millis(millis / 500));
            for took in [took - jitter, took, took + jitter] {
                let with = looks(took, Some(Duration::from_millis(millis)));
                let without = looks(took, None);
                let late = *with.last().unwrap() - took;
                assert!(late <= SHORTEST_DUE_POLL.max(jitter / 2), "{took:?}: {late:?} late");
                assert!(with.len() <= without.len() + 50, "{took:?}: {} looks", with.len());
            }
        }
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_never_pass_it() {
        let cap = Duration::from_secs(10);
        let mut backoff = Backoff::new("slurm_42", cap);
        for k in 0..100 {
            let step = Duration::from_millis(250).saturating_mul(1 << k.min(20)).min(cap);
            let pause = backoff.next_pause();
            assert!(pause >= step / 2 && pause <= step, "try {k}: {pause:?} of {step:?}");
        }
    }

    #[test]
    fn names_do_not_retry_in_step_but_each_repeats_itself() {
        let pauses = |name| {
            let mut backoff = Backoff::new(name, Duration::from_secs(10));
            (0..4).map(|_| backoff.next_pause()).collect::<Vec<_>>()
        };
        assert_ne!(pauses("slurm_1"), pauses("slurm_2"));
        assert_eq!(pauses("slurm_1"), pauses("slurm_1"));
    }

    #[test]
    fn log_lines_grow_rare() {
        let mut backoff = Backoff::new("slurm_42", Duration::from_secs(30));
        let lines = (0..1000).filter(|_| {
            backoff.next_pause();
            backoff.worth_a_line()
        });
        assert_eq!(lines.count(), 10);
    }
}
