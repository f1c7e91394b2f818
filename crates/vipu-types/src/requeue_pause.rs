//! The growing pause before the next run of a job that is requeued again and again.

use std::str::FromStr;
use std::time::Duration;

use crate::Words;

/// The pauses between the runs of a job. Each pause is twice the one before, up to the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequeuePause {
    /// The first pause. A run that took longer than `longest` is followed by it again.
    pub first: Duration,
    /// The longest pause, at least `first`.
    pub longest: Duration,
}

const WRONG: &str = "not two times, such as 10-600 (1-86400 seconds, the longer one last)";

impl RequeuePause {
    /// The pause after a run that follows this many short runs in a row.
    pub fn after(self, short_runs: u32) -> Duration {
        let factor = 1_u32.checked_shl(short_runs).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

impl FromStr for RequeuePause {
    type Err = Words;

    /// Seconds, as in `10-600`. One number is a pause that does not grow.
    fn from_str(text: &str) -> Result<Self, Words> {
        let (first, longest) = text.split_once('-').unwrap_or((text, text));
        let pause = Self { first: seconds(first)?, longest: seconds(longest)? };
        if pause.first <= pause.longest { Ok(pause) } else { Err(WRONG.into()) }
    }
}

fn seconds(text: &str) -> Result<Duration, Words> {
    const DAY: u64 = 86_400;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = text.parse().ok().filter(|seconds| digits && (1..=DAY).contains(seconds));
    seconds.map(Duration::from_secs).ok_or(WRONG.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, short_runs: u32) -> u64 {
        text.parse::<RequeuePause>().unwrap().after(short_runs).as_secs()
    }

    #[test]
    fn user_requeue_pauses_double_up_to_the_longest() {
        let pauses: Vec<_> = (0..8).map(|short_runs| after("10-600", short_runs)).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 600, 600]);
        assert_eq!([31, 32, u32::MAX].map(|short_runs| after("1-86400", short_runs)), [86_400; 3]);
        assert_eq!([0, 9].map(|short_runs| after("60", short_runs)), [60, 60]);
    }

    #[test]
    fn user_requeue_pauses_are_read() {
        for bad in ["", "-", "0-600", "10-", "-600", "600-10", "10-86401", "10-60-600", "+1-2", "1 - 2", "x"]
        {
            assert_eq!(bad.parse::<RequeuePause>(), Err(WRONG.into()), "{bad}");
        }
    }
}
