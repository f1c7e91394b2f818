//! How long things take.

use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

/// How long it takes to make or reset a partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always the same.
    Fixed(Duration),
    /// As plausible for real systems: 2 s and 0.25 s for each IPU, from 128 IPUs on a minute more,
    /// all of it up to a fifth more or less.
    Model,
}

impl Latency {
    pub(crate) fn of(self, ipus: u32, random: &mut StdRng) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Model => {
                let links = if ipus >= 128 { 60.0 } else { 0.0 };
                let seconds = 2.0 + 0.25 * f64::from(ipus) + links;
                Duration::from_secs_f64(seconds * random.random_range(0.8..=1.2))
            }
        }
    }
}

/// The text is neither `model` nor a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no time; write for example 2s, 1.5s, 150ms")]
pub struct BadTime(String);

/// `model`, or a time as [`parse_time`] reads it.
impl FromStr for Latency {
    type Err = BadTime;
    fn from_str(text: &str) -> Result<Self, BadTime> {
        if text == "model" { Ok(Self::Model) } else { parse_time(text).map(Self::Fixed) }
    }
}

/// A time such as `2s`, `1.5s` or `150ms`.
///
/// # Errors
/// When it is none.
pub fn parse_time(text: &str) -> Result<Duration, BadTime> {
    let bad = || BadTime(text.to_owned());
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => return Err(bad()),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn times_are_read_in_s_and_ms() {
        assert_eq!("2s".parse(), Ok(Latency::Fixed(Duration::from_secs(2))));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("150ms"), Ok(Duration::from_millis(150)));
        assert_eq!("model".parse(), Ok(Latency::Model));
        for bad in ["", "2", "s", "-1s", "2m", "1e99s", "NaNs"] {
            assert!(bad.parse::<Latency>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_model_grows_with_the_size_and_jitters() {
        let mut random = StdRng::seed_from_u64(1);
        let mut range = |ipus| {
            let times: Vec<_> =
                (0..1000).map(|_| Latency::Model.of(ipus, &mut random).as_secs_f64()).collect();
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let most = times.iter().copied().fold(0.0, f64::max);
            (least, most)
        };
        for (ipus, middle) in [(4, 3.0), (64, 18.0), (128, 94.0)] {
            let (least, most) = range(ipus);
            assert!(least >= 0.8 * middle && least < 0.82 * middle, "{ipus}: {least}");
            assert!(most <= 1.2 * middle && most > 1.18 * middle, "{ipus}: {most}");
        }
    }
}
