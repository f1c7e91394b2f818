//! A row of the scoreboard: what was measured, its target, and the verdict.

use std::fmt;

use testbed::say;

use crate::{
    Estimate,
    estimate::geometric_mean,
    sides::{Pair, Side, pairs},
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Reported only.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is within the target.
    Met,
    /// The mean is within the target, but not the whole interval.
    MetOnAverage,
    /// The mean is beyond the target, but not the whole interval.
    Open,
    /// The whole interval is beyond the target.
    Missed,
    /// A single pair has no interval.
    OnePair,
    NoTarget,
}

/// How both sides of a pair are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Ratio,
    Difference,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The key of the line.
    pub name: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub scale: Scale,
    pub target: Target,
    pub(crate) pairs: Vec<Pair>,
}

impl Row {
    /// A row of these measurements, which compares both sides by the ratio of their values.
    pub(crate) fn ratio<T>(
        (name, what, unit): (&'static str, &'static str, &'static str),
        target: Target,
        measured: &[(T, T)],
        value: impl Fn(&T) -> f64,
    ) -> Self {
        Self { name, what, unit, scale: Scale::Ratio, target, pairs: pairs(measured, value) }
    }

    pub fn estimate(&self) -> Estimate {
        match self.scale {
            Scale::Ratio => Estimate::ratio(&self.pairs),
            Scale::Difference => Estimate::difference(&self.pairs),
        }
    }

    pub fn verdict(&self) -> Verdict {
        self.target.verdict(self.estimate())
    }

    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The mean of one side: geometric for a ratio.
    pub(crate) fn mean(&self, side: Side) -> f64 {
        let values = self.pairs.iter().map(|pair| pair.of(side));
        match self.scale {
            Scale::Ratio => geometric_mean(values),
            Scale::Difference => {
                let number = f64::from(u32::try_from(self.pairs.len()).unwrap_or(u32::MAX));
                values.sum::<f64>() / number
            }
        }
    }

    /// Prints the pairs, so that a reader of the output sees how much they vary.
    pub fn say_pairs(&self) {
        let pairs: Vec<_> =
            self.pairs.iter().map(|Pair { ours, stock }| format!("{ours:.2}/{stock:.2}")).collect();
        say(format!("{} ({}), ours/stock: {}", self.name, self.unit, pairs.join(" ")));
    }
}

impl Target {
    fn verdict(self, Estimate { mean, interval }: Estimate) -> Verdict {
        // Above zero is too much.
        let excess = |value: f64| match self {
            Self::AtMost(most) => Some(value - most),
            Self::AtLeast(least) => Some(least - value),
            Self::None => None,
        };
        let Some(mean) = excess(mean) else { return Verdict::NoTarget };
        let bounds = interval.and_then(|(low, high)| excess(low).zip(excess(high)));
        let Some((best, worst)) = bounds.map(|(one, other)| (one.min(other), one.max(other))) else {
            return Verdict::OnePair;
        };
        match (mean <= 0.0, worst <= 0.0, best <= 0.0) {
            (true, true, _) => Verdict::Met,
            (true, false, _) => Verdict::MetOnAverage,
            (false, _, true) => Verdict::Open,
            (false, _, false) => Verdict::Missed,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most:.2}"),
            Self::AtLeast(least) => write!(f, "≥ {least:.2}"),
            Self::None => Ok(()),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Met => "met",
            Self::MetOnAverage => "met on average",
            Self::Open => "open",
            Self::Missed => "**missed**",
            Self::OnePair => "no interval: one pair",
            Self::NoTarget => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_looks_at_the_whole_interval() {
        let interval = |low, mean, high| Estimate { mean, interval: Some((low, high)) };
        let at_most = |estimate| Target::AtMost(1.1).verdict(estimate);
        assert_eq!(at_most(interval(0.9, 1.0, 1.1)), Verdict::Met);
        assert_eq!(at_most(interval(0.9, 1.0, 1.2)), Verdict::MetOnAverage);
        assert_eq!(at_most(interval(1.0, 1.2, 1.3)), Verdict::Open);
        assert_eq!(at_most(interval(1.2, 1.3, 1.4)), Verdict::Missed);
        let at_least = |estimate| Target::AtLeast(0.98).verdict(estimate);
        assert_eq!(at_least(interval(0.99, 1.0, 1.1)), Verdict::Met);
        assert_eq!(at_least(interval(0.9, 1.0, 1.1)), Verdict::MetOnAverage);
        assert_eq!(at_least(interval(0.9, 0.95, 1.0)), Verdict::Open);
        assert_eq!(at_least(interval(0.9, 0.92, 0.95)), Verdict::Missed);
    }

    #[test]
    fn without_an_interval_nothing_is_certain() {
        let one = Estimate { mean: 1.0, interval: None };
        assert_eq!(Target::AtMost(1.1).verdict(one), Verdict::OnePair);
        assert_eq!(Target::None.verdict(one), Verdict::NoTarget);
    }
}
