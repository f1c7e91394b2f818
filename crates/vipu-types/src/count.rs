//! The size of a partition.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of IPUs that a partition can have: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct IpuCount(u32);

/// A number that is no partition size, with the sizes next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASize {
    /// Zero IPUs.
    #[error("a partition has at least 1 IPU")]
    Zero,
    /// Between two powers of two.
    #[error("{asked} IPUs is not a power of two")]
    NotPowerOfTwo {
        /// The number that was asked for.
        asked: u64,
        /// The next smaller size.
        below: u64,
        /// The next larger size.
        above: u64,
    },
    /// More than [`IpuCount`] can hold.
    #[error("{0} IPUs is more than any system has")]
    TooLarge(u64),
}

impl IpuCount {
    /// One IPU.
    pub const ONE: IpuCount = IpuCount(1);

    /// The largest size.
    pub const LARGEST: IpuCount = IpuCount(1 << 31);

    /// Checks that `n` IPUs can make a partition.
    ///
    /// # Errors
    /// `n` is zero, not a power of two, or beyond `u32`.
    pub fn new(n: u64) -> Result<Self, NotASize> {
        match u32::try_from(n) {
            Ok(0) => Err(NotASize::Zero),
            Ok(small) if small.is_power_of_two() => Ok(Self(small)),
            Ok(_) => {
                let above = n.next_power_of_two();
                Err(NotASize::NotPowerOfTwo { asked: n, below: above / 2, above })
            }
            Err(_) => Err(NotASize::TooLarge(n)),
        }
    }

    /// The number of IPU-Link domains of this size that a partition spans. A partition has at least one GCD
    /// for each.
    pub fn domains(self, domain: IpuCount) -> u32 {
        self.0.div_ceil(domain.0)
    }

    /// The plain number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for IpuCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u32> for IpuCount {
    type Error = NotASize;
    fn try_from(n: u32) -> Result<Self, NotASize> {
        Self::new(n.into())
    }
}

impl From<IpuCount> for u32 {
    fn from(count: IpuCount) -> u32 {
        count.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_are_sizes() {
        for n in 0..=65_536_u64 {
            assert_eq!(IpuCount::new(n).is_ok(), n.is_power_of_two(), "{n}");
        }
    }

    #[test]
    fn only_large_partitions_span_domains() {
        let domains = |size| IpuCount::new(size).unwrap().domains(IpuCount::new(64).unwrap());
        assert_eq!([1, 64, 128, 256].map(domains), [1, 1, 2, 4]);
    }

    #[test]
    fn the_nearest_sizes_are_named() {
        assert_eq!(IpuCount::new(3), Err(NotASize::NotPowerOfTwo { asked: 3, below: 2, above: 4 }));
        assert_eq!(IpuCount::new(1 << 40), Err(NotASize::TooLarge(1 << 40)));
    }
}
