//! Times and durations in words.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use vipu_status::UNLIMITED;

/// A time as Slurm's commands write it.
pub(crate) fn time(time: i64, zone: &TimeZone) -> String {
    let time = Timestamp::from_second(time).map(|time| time.to_zoned(zone.clone()));
    time.map_or_else(|_| "-".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// A time of the next days: the clock, with the day if it is a day away or more.
pub(crate) fn clock(time: i64, now: i64, zone: &TimeZone) -> String {
    let form = match time.saturating_sub(now) {
        ..86_400 => "%H:%M",
        86_400..604_800 => "%a %H:%M",
        _ => "%Y-%m-%d",
    };
    let time = Timestamp::from_second(time).map(|time| time.to_zoned(zone.clone()));
    time.map_or_else(|_| "-".to_owned(), |time| time.strftime(form).to_string())
}

/// A time that may be unknown.
pub(crate) fn time_if_known(known: Option<i64>, zone: &TimeZone) -> String {
    known.map_or_else(|| "-".to_owned(), |known| time(known, zone))
}

/// A time limit as Slurm's commands write it: `1-02:03:04`.
pub(crate) fn limit(seconds: u64) -> String {
    if seconds >= UNLIMITED {
        return "UNLIMITED".to_owned();
    }
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match days {
        0 => format!("{hours:02}:{minutes:02}:{:02}", seconds % 60),
        _ => format!("{days}-{hours:02}:{minutes:02}:{:02}", seconds % 60),
    }
}

/// The seconds of a time limit as users of sbatch write it. None for another text.
pub(crate) fn read_limit(text: &str) -> Option<u64> {
    if ["0", "UNLIMITED", "INFINITE"].iter().any(|word| word.eq_ignore_ascii_case(text)) {
        return Some(UNLIMITED);
    }
    let number =
        |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts: Option<Vec<u64>> = rest.split(':').map(number).collect();
    let [hours, minutes, seconds] = match (days, &*parts?) {
        (Some(_), [hours]) => [*hours, 0, 0],
        (Some(_), [hours, minutes]) => [*hours, *minutes, 0],
        (None, [minutes]) => [0, *minutes, 0],
        (None, [minutes, seconds]) => [0, *minutes, *seconds],
        (_, [hours, minutes, seconds]) => [*hours, *minutes, *seconds],
        _ => return None,
    };
    let parts = [(days.unwrap_or(0), 86_400), (hours, 3600), (minutes, 60), (seconds, 1)];
    parts.into_iter().try_fold(0_u64, |sum, (number, unit)| sum.checked_add(number.checked_mul(unit)?))
}

/// A duration in words, with two units at most.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_times_are_written_as_slurm_does() {
        assert_eq!(time(0, &TimeZone::UTC), "1970-01-01T00:00:00");
        assert_eq!(time(i64::MAX, &TimeZone::UTC), "-");
        assert_eq!(limit(93_784), "1-02:03:04");
        assert_eq!(limit(60), "00:01:00");
        assert_eq!(limit(u64::MAX), "UNLIMITED");
        for (text, seconds) in [
            ("0", 31_536_000),
            ("unlimited", 31_536_000),
            ("90", 5400),
            ("1:30", 90),
            ("2:00:00", 7200),
            ("1-2", 93_600),
            ("1-2:3", 93_780),
            ("1-02:03:04", 93_784),
        ] {
            assert_eq!(read_limit(text), Some(seconds), "{text}");
        }
        for wrong in ["", "x", "1:", "-1", "1-", "1:2:3:4", "+1", "1h", "18446744073709551615"] {
            assert_eq!(read_limit(wrong), None, "{wrong}");
        }
        assert_eq!([span(-1), span(59), span(61), span(7260)], ["0 s", "59 s", "1 min", "2 h 1 min"]);
    }
}
