//! Remedies that a user asks for in case a job fails or ends.

use std::str::FromStr;
use std::time::Duration;

use crate::run::RunEnd;

/// The remedies for a failed job and its partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterFailure {
    /// The time for which the partition stays. `None` removes it at once.
    pub keep: Option<Duration>,
    /// The ends of a run after which the job goes back into the queue.
    pub requeue_on: RequeueOn,
}

/// The ends of a run after which its job goes back into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueOn {
    /// A failure with one of these exit codes.
    Codes(ExitCodes),
    /// Success, and every failure.
    Any,
}

/// Some of the exit codes 1 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitCodes([u64; 4]);

/// A text that names no exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of exit codes, such as 42,128-255")]
pub struct BadExitCodes;

impl AfterFailure {
    /// No remedy besides those of the site.
    pub const NONE: Self = Self { keep: None, requeue_on: RequeueOn::NEVER };
}

impl RequeueOn {
    /// No end.
    pub const NEVER: Self = Self::Codes(ExitCodes::NONE);

    /// Whether this end is among them. That of a cancelled run never is.
    pub fn includes(self, end: RunEnd) -> bool {
        match self {
            Self::Codes(codes) => matches!(end, RunEnd::Failed(code) if codes.contains(code)),
            Self::Any => end != RunEnd::Cancelled,
        }
    }
}

impl Default for RequeueOn {
    fn default() -> Self {
        Self::NEVER
    }
}

impl FromStr for RequeueOn {
    type Err = BadExitCodes;

    /// `any`, or exit codes.
    fn from_str(text: &str) -> Result<Self, BadExitCodes> {
        if text == "any" { Ok(Self::Any) } else { text.parse().map(Self::Codes) }
    }
}

impl ExitCodes {
    /// No code.
    pub const NONE: Self = Self([0; 4]);

    /// Whether the set contains this code.
    pub const fn contains(self, code: u8) -> bool {
        self.0[code as usize / 64] & (1 << (code % 64)) != 0
    }

    const fn add(&mut self, code: u8) {
        self.0[code as usize / 64] |= 1 << (code % 64);
    }
}

impl FromStr for ExitCodes {
    type Err = BadExitCodes;

    /// Exit codes and ranges, as in `42,128-255`.
    fn from_str(text: &str) -> Result<Self, BadExitCodes> {
        let mut codes = Self::NONE;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (code(first)?, code(last)?);
            if first > last {
                return Err(BadExitCodes);
            }
            (first..=last).for_each(|code| codes.add(code));
        }
        Ok(codes)
    }
}

fn code(text: &str) -> Result<u8, BadExitCodes> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let code = if digits { text.parse().ok() } else { None };
    code.filter(|code| *code > 0).ok_or(BadExitCodes)
}

/// Parses a time above zero as users write it: minutes, or a number with `s`, `m` or `h`. The longest is a
/// year.
pub(crate) fn time(text: &str) -> Option<Duration> {
    const YEAR: u64 = 365 * 24 * 3600;
    let (number, unit) = match text.as_bytes().last()? {
        b's' => (&text[..text.len() - 1], 1),
        b'm' => (&text[..text.len() - 1], 60),
        b'h' => (&text[..text.len() - 1], 3600),
        _ => (text, 60),
    };
    let number = if number.bytes().all(|byte| byte.is_ascii_digit()) { number } else { "" };
    let seconds = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (1..=YEAR).contains(&seconds).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_ranges_are_read() {
        let codes: ExitCodes = "42,128-255,1,130-140".parse().unwrap();
        let found: Vec<u8> = (0..=255).filter(|code| codes.contains(*code)).collect();
        let wanted: Vec<u8> = [1, 42].into_iter().chain(128..=255).collect();
        assert_eq!(found, wanted);
        for bad in ["", ",", "0", "256", "1-", "-1", "5-3", "1,,2", "1 ", "+1", "a", "0-3", "1-2-3"] {
            assert_eq!(bad.parse::<ExitCodes>(), Err(BadExitCodes), "{bad}");
        }
    }

    #[test]
    fn user_requeue_on_any_includes_failures_without_an_exit_code() {
        let [any, codes] = ["any", "1-255"].map(|text| text.parse::<RequeueOn>().unwrap());
        assert_eq!(
            [any, codes, RequeueOn::NEVER].map(|on| on.includes(RunEnd::Failed(42))),
            [true, true, false]
        );
        assert_eq!([any, codes].map(|on| on.includes(RunEnd::Otherwise("TIMEOUT"))), [true, false]);
        assert_eq!([any, codes].map(|on| on.includes(RunEnd::Cancelled)), [false, false]);
        for bad in ["all", "Any", "any,1", "42,any"] {
            assert_eq!(bad.parse::<RequeueOn>(), Err(BadExitCodes), "{bad}");
        }
    }

    #[test]
    fn times_are_minutes_unless_they_say_otherwise() {
        for (text, seconds) in
            [("10", 600), ("10m", 600), ("90s", 90), ("1h", 3600), ("8760h", 365 * 24 * 3600)]
        {
            assert_eq!(time(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for bad in
            ["", "m", "0", "0s", "-1", "+1", "1.5h", "1d", "10 m", "8761h", "99999999999999999999h", "1é"]
        {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
