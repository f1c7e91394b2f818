//! The mean of paired comparisons, with its interval.

use crate::sides::Pair;

/// The 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A mean with its 95 % interval, from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    /// `None` for a single pair.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// The geometric mean of ours / stock. The interval is that of Student's t over the logarithms.
    pub(crate) fn ratio(pairs: &[Pair]) -> Self {
        let logarithms: Vec<_> = pairs.iter().map(|pair| (pair.ours / pair.stock).ln()).collect();
        let Self { mean, interval } = Self::of(&logarithms);
        Self { mean: mean.exp(), interval: interval.map(|(low, high)| (low.exp(), high.exp())) }
    }

    /// The mean of ours - stock.
    pub(crate) fn difference(pairs: &[Pair]) -> Self {
        Self::of(&pairs.iter().map(|pair| pair.ours - pair.stock).collect::<Vec<_>>())
    }

    fn of(values: &[f64]) -> Self {
        let number = f64::from(u32::try_from(values.len()).unwrap_or(u32::MAX));
        let mean = values.iter().sum::<f64>() / number;
        let Some(freedom) = values.len().checked_sub(2) else {
            return Self { mean, interval: None };
        };
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (number - 1.0);
        // With more pairs the quantile is a little smaller: the interval is then a little too wide.
        let half = STUDENT[freedom.min(STUDENT.len() - 1)] * (variance / number).sqrt();
        Self { mean, interval: Some((mean - half, mean + half)) }
    }
}

pub(crate) fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    Estimate::of(&values.map(f64::ln).collect::<Vec<_>>()).mean.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        values.iter().map(|&(ours, stock)| Pair { ours, stock }).collect()
    }

    #[test]
    fn a_ratio_is_the_geometric_mean_with_students_interval() {
        let Estimate { mean, interval } = Estimate::ratio(&pairs(&[(2.0, 1.0), (1.0, 2.0), (1.0, 1.0)]));
        let (low, high) = interval.unwrap();
        assert!((mean - 1.0).abs() < 1e-9);
        // ln 2 is the standard deviation: 4.303 * ln 2 / sqrt 3 = 1.722.
        assert!((high.ln() - 1.722).abs() < 1e-3 && (low.ln() + 1.722).abs() < 1e-3, "{low} to {high}");
    }

    #[test]
    fn a_difference_is_the_arithmetic_mean() {
        let Estimate { mean, interval } = Estimate::difference(&pairs(&[(3.0, 1.0), (5.0, 1.0)]));
        let (low, high) = interval.unwrap();
        assert!((mean - 3.0).abs() < 1e-9);
        assert!((high - 3.0 - 12.706).abs() < 1e-9 && (low - 3.0 + 12.706).abs() < 1e-9, "{low} to {high}");
    }

    #[test]
    fn one_pair_has_no_interval() {
        let one = Estimate::ratio(&pairs(&[(3.0, 1.0)]));
        assert!((one.mean - 3.0).abs() < 1e-9 && one.interval.is_none());
    }

    #[test]
    fn many_pairs_use_the_last_quantile() {
        let many: Vec<_> = (0..100).map(|k| (f64::from(1 + k % 2), 1.0)).collect();
        let Estimate { mean, interval } = Estimate::difference(&pairs(&many));
        let (_, high) = interval.unwrap();
        let deviation = (0.25_f64 * 100.0 / 99.0).sqrt();
        assert!((high - mean - 2.042 * deviation / 10.0).abs() < 1e-9);
    }
}
