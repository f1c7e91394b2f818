//! How sure one can be of a ratio.

/// A ratio that was measured in pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the pairs' ratios.
    pub mean: f64,
    /// Where the interval begins that holds the true ratio 95 times in 100.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Ratio {
    /// Of pairs of numerator and denominator, all greater than zero; `None` of fewer than two.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let freedom = u32::try_from(pairs.len()).ok()?.checked_sub(1).filter(|&freedom| freedom > 0)?;
        // Of twice and half as much the mean is one: so it is of their logarithms.
        let logs = pairs.iter().map(|(above, below)| (above / below).ln());
        let count = f64::from(freedom + 1);
        let mean = logs.clone().sum::<f64>() / count;
        let variance = logs.map(|log| (log - mean).powi(2)).sum::<f64>() / f64::from(freedom);
        let reach = student(freedom) * (variance / count).sqrt();
        Some(Self { mean: mean.exp(), low: (mean - reach).exp(), high: (mean + reach).exp() })
    }

    /// How far the interval reaches from the mean, as a part of the mean.
    #[must_use]
    pub fn reach(&self) -> f64 {
        (self.high / self.mean - 1.0).max(1.0 - self.low / self.mean)
    }
}

/// The 0.975 quantile of Student's distribution: exact for small samples, then by Cornish and Fisher's expansion.
fn student(freedom: u32) -> f64 {
    const FIRST: [f64; 4] = [12.706, 4.303, 3.182, 2.776];
    const NORMAL: f64 = 1.959_964;
    let exact = FIRST.get(freedom as usize - 1).copied();
    exact.unwrap_or_else(|| {
        let (z, n) = (NORMAL, f64::from(freedom));
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
        z + first / n + second / n.powi(2) + third / n.powi(3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, wanted) in [(1, 12.706), (4, 2.776), (5, 2.571), (9, 2.262), (19, 2.093), (100, 1.984)]
        {
            let found = student(freedom);
            assert!((found - wanted).abs() < 0.005, "{freedom}: {found}, not {wanted}");
        }
    }

    #[test]
    fn the_mean_of_twice_and_half_as_much_is_one() {
        let ratio = Ratio::of(&[(2.0, 1.0), (1.0, 2.0)]).unwrap();
        assert!((ratio.mean - 1.0).abs() < 1e-9, "{ratio:?}");
        // Logarithms of plus and minus ln 2: a deviation of ln 2 * sqrt 2, over sqrt 2, times 12.706.
        assert!((ratio.high.ln() - 12.706 * 2_f64.ln()).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.low * ratio.high - 1.0).abs() < 1e-6, "{ratio:?}");
    }

    #[test]
    fn the_interval_shrinks_with_the_pairs() {
        let pairs = [(1.02, 1.0), (1.08, 1.0), (1.05, 1.0), (1.01, 1.0), (1.09, 1.0), (1.05, 1.0)];
        let (few, many) = (Ratio::of(&pairs[..3]).unwrap(), Ratio::of(&pairs).unwrap());
        assert!(many.reach() < few.reach(), "{many:?} {few:?}");
        assert!(many.low < 1.05 && 1.05 < many.high, "{many:?}");
        assert_eq!(Ratio::of(&pairs[..1]), None);
    }
}
