//! Times of the week, as an administrator writes them.

use std::fmt;
use std::str::FromStr;

use crate::{Words, words};

/// The names of the days, as in vipu.conf.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The minutes of a day.
const DAY: u16 = 24 * 60;

/// Times of the week, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeeklyTimes(Vec<WeeklyTime>);

/// A time on some days of the week, in the local time of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeeklyTime {
    /// Whether it begins on a day, Monday first.
    days: [bool; 7],
    start: u16,
    minutes: u16,
    text: String,
}

impl WeeklyTimes {
    /// The times.
    pub fn iter(&self) -> impl Iterator<Item = &WeeklyTime> {
        self.0.iter()
    }
}

impl WeeklyTime {
    /// Whether it begins on this day. Monday is day 0.
    pub fn begins_on(&self, day: usize) -> bool {
        self.days.get(day).copied().unwrap_or_default()
    }

    /// The hour and the minute of the start.
    pub fn start(&self) -> (u16, u16) {
        (self.start / 60, self.start % 60)
    }

    /// The duration, in minutes: at least 1, at most a day.
    pub fn minutes(&self) -> u16 {
        self.minutes
    }
}

impl fmt::Display for WeeklyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for WeeklyTimes {
    type Err = Words;

    fn from_str(text: &str) -> Result<Self, Words> {
        text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for WeeklyTime {
    type Err = Words;

    fn from_str(text: &str) -> Result<Self, Words> {
        let bad = || words!("'{text}' is not <days> <start>-<end>, as in sat-sun 08:00-20:00");
        let (of_days, of_clock) = text.split_once(' ').ok_or_else(bad)?;
        let (start, end) = of_clock.trim().split_once('-').ok_or_else(bad)?;
        let (start, end) = clock(start).zip(clock(end)).filter(|(start, _)| *start < DAY).ok_or_else(bad)?;
        let minutes = if end > start { end - start } else { end + DAY - start };
        Ok(Self { days: days(of_days).ok_or_else(bad)?, start, minutes, text: text.to_owned() })
    }
}

fn days(text: &str) -> Option<[bool; 7]> {
    let number = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    if text.eq_ignore_ascii_case("daily") {
        return Some([true; 7]);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    let count = (last + 7 - first) % 7;
    Some(std::array::from_fn(|day| (day + 7 - first) % 7 <= count))
}

/// The minutes since midnight of a text such as `08:30` or `24:00`.
fn clock(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str| digits.parse::<u16>().ok().filter(|_| digits.len() == 2);
    let (hour, minute) = (number(hour)?, number(minute)?);
    (minute < 60).then_some(hour * 60 + minute).filter(|minutes| *minutes <= DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days_of(text: &str) -> String {
        let time: WeeklyTime = text.parse().unwrap();
        let days = (0..7).filter(|day| time.begins_on(*day)).map(|day| DAYS[day]);
        format!("{} {:?}+{}", days.collect::<Vec<_>>().join(" "), time.start(), time.minutes())
    }

    #[test]
    fn days_and_clocks_are_read() {
        for (text, meaning) in [
            ("sat 08:00-20:00", "sat (8, 0)+720"),
            ("Fri-Mon 22:30-06:00", "mon fri sat sun (22, 30)+450"),
            ("daily 00:00-24:00", "mon tue wed thu fri sat sun (0, 0)+1440"),
            ("mon-sun 12:00-12:00", "mon tue wed thu fri sat sun (12, 0)+1440"),
        ] {
            assert_eq!(days_of(text), meaning, "{text}");
        }
        let all: WeeklyTimes = "sat 08:00-20:00, wed 12:00-13:00".parse().unwrap();
        let texts: Vec<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["sat 08:00-20:00", "wed 12:00-13:00"]);
    }

    #[test]
    fn other_texts_are_errors() {
        for text in [
            "",
            "sat",
            "sat 8:00-20:00",
            "sat 24:00-01:00",
            "sat 08:60-09:00",
            "sam 08:00-09:00",
            "sat 08:00",
        ] {
            let why = text.parse::<WeeklyTimes>().unwrap_err().to_string();
            assert!(why.contains("is not <days> <start>-<end>"), "{text}: {why}");
        }
    }
}
