//! The pauses between looks and between tries.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The longest pause between two tries of work that is never given up.
pub(crate) const RETRY_CAP: Duration = Duration::from_secs(30);

const SHORTEST_POLL: Duration = Duration::from_millis(10);
/// The shortest pause before the usual time is near.
const SHORTEST_EARLY_POLL: Duration = Duration::from_millis(500);
/// The shortest pause around the usual time.
const SHORTEST_DUE_POLL: Duration = Duration::from_millis(3);
const LONGEST_POLL: Duration = Duration::from_secs(2);

/// The pause before the next look at work that has taken `elapsed` until now. `usual` is the time that the last work of
/// its kind took: a controller takes similar times, and jobs wait for the look that finds the work done.
///
/// Looks are rare until nine tenths of the usual time. Then each pause is a third of the distance to the usual moment, so
/// the looks are closest together there. Without a usual time, or long after it, pauses grow with the elapsed time: quick
/// work is noticed quickly, and slow work is not asked for often.
pub(crate) fn poll_pause(elapsed: Duration, usual: Option<Duration>) -> Duration {
    let Some(usual) = usual.filter(|usual| elapsed < *usual * 3 / 2) else {
        return (elapsed / 20).clamp(SHORTEST_POLL, LONGEST_POLL);
    };
    let to_due = (usual * 9 / 10).saturating_sub(elapsed);
    if to_due.is_zero() {
        (usual.abs_diff(elapsed) / 3).min(elapsed / 50).max(SHORTEST_DUE_POLL)
    } else {
        // Work can be done early, or fail.
        (elapsed / 2).clamp(SHORTEST_EARLY_POLL, LONGEST_POLL).min(to_due).max(SHORTEST_DUE_POLL)
    }
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

    /// The number of looks at work that takes `took`, and the time from its end to the look that finds it done.
    fn looks(took: Duration, usual: Option<Duration>) -> (usize, Duration) {
        let next = |elapsed: &Duration| (*elapsed < took).then(|| *elapsed + poll_pause(*elapsed, usual));
        let looks: Vec<_> = std::iter::successors(Some(Duration::ZERO), next).collect();
        (looks.len(), looks[looks.len() - 1] - took)
    }

    #[test]
    fn work_is_looked_at_by_expectation() {
        // The number of looks: usual time unknown, right, a tenth less, a tenth more, half, twice as long.
        for (seconds, most) in [
            (1, [54, 13, 25, 4, 41, 3]),
            (10, [102, 25, 44, 11, 60, 10]),
            (20, [116, 32, 53, 16, 66, 15]),
            (30, [124, 37, 59, 21, 72, 20]),
            (60, [140, 53, 75, 36, 84, 35]),
            (120, [170, 81, 104, 65, 109, 65]),
        ] {
            let took = Duration::from_secs(seconds);
            let usual =
                [None, Some(took), Some(took * 9 / 10), Some(took * 11 / 10), Some(took / 2), Some(took * 2)];
            for (usual, most) in usual.into_iter().zip(most) {
                let (looks, late) = looks(took, usual);
                assert!(looks <= most, "{took:?}, usually {usual:?}: {looks} looks");
                let longest = match usual {
                    Some(usual) if usual == took => SHORTEST_DUE_POLL,
                    Some(usual) if usual < took * 5 / 4 && took < usual * 5 / 4 => took / 40,
                    Some(usual) if usual > took => LONGEST_POLL.min(took / 2),
                    _ => LONGEST_POLL.min(took / 20),
                };
                assert!(late <= longest, "{took:?}, usually {usual:?}: {late:?} late");
            }
        }
    }

    #[test]
    fn an_end_near_the_usual_time_is_noticed_within_milliseconds() {
        for millis in [20, 100, 500, 2_000, 10_000, 60_000] {
            let (took, jitter) = (Duration::from_millis(millis), Duration::from_millis(millis / 500));
            for took in [took - jitter, took, took + jitter] {
                let (_, late) = looks(took, Some(Duration::from_millis(millis)));
                assert!(late <= SHORTEST_DUE_POLL.max(jitter / 2), "{took:?}: {late:?} late");
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
