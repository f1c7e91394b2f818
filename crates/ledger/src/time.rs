//! The two clocks: the caller's and Slurm's.

/// A point in time, in milliseconds since an epoch that the caller chooses. The ledger has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// A point in time, in seconds since the Unix epoch, as Slurm counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(pub i64);
