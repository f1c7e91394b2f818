//! The partitions of a pool: those that exist before the jobs, and stay after them (Mode=pool).

use std::fmt;
use std::str::FromStr;

use crate::{IpuCount, ModelName, PartitionId, Words, words};

/// The most partitions of one size that slurm-vipu makes for a pool.
const MOST: u32 = 4096;

/// The partitions of a pool, as `Pool` in vipu.conf names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool(Vec<PoolPart>);

/// A part of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolPart {
    /// Partitions that slurm-vipu makes, as in `16x4`.
    Made {
        /// The number of IPUs in each.
        size: IpuCount,
        /// The number of partitions.
        count: u32,
    },
    /// The partition of this name, which an administrator has made.
    Named(PartitionId),
    /// The partitions whose names begin so, which an administrator has made, as in `p16*`.
    Beginning(PartitionId),
}

/// The pool of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPool {
    pool: Pool,
    /// The beginning of the ids of all partitions that slurm-vipu makes.
    prefix: String,
    model: ModelName,
}

impl Pool {
    /// The sizes of the partitions that slurm-vipu makes.
    pub fn made_sizes(&self) -> impl Iterator<Item = IpuCount> {
        self.counts().map(|(size, _)| size)
    }

    /// Whether slurm-vipu makes all partitions.
    pub fn is_all_made(&self) -> bool {
        self.counts().count() == self.0.len()
    }

    fn counts(&self) -> impl Iterator<Item = (IpuCount, u32)> {
        self.0.iter().filter_map(|part| match part {
            PoolPart::Made { size, count } => Some((*size, *count)),
            PoolPart::Named(_) | PoolPart::Beginning(_) => None,
        })
    }
}

impl ModelPool {
    /// The pool of this model, with this prefix of partition ids.
    ///
    /// # Errors
    /// If an id would be longer than controllers take.
    pub fn new(pool: Pool, prefix: &str, model: &ModelName) -> Result<Self, Words> {
        let new = Self { pool, prefix: prefix.to_owned(), model: model.clone() };
        for (size, count) in new.pool.counts() {
            PartitionId::new(new.id(size, count)).map_err(Words::of)?;
        }
        if let Some(name) = new.named().find(|name| name.job(prefix).is_some()) {
            return Err(words!("{name} is named like the partition of a job"));
        }
        Ok(new)
    }

    /// The partitions that slurm-vipu makes. Ids have the model, because ids of two models must differ.
    pub fn made(&self) -> impl Iterator<Item = (PartitionId, IpuCount)> {
        self.pool.counts().flat_map(move |(size, count)| {
            (1..=count).filter_map(move |n| Some((PartitionId::new(self.id(size, n)).ok()?, size)))
        })
    }

    fn makes(&self, id: &PartitionId) -> bool {
        let mut numbers = id.as_str().rsplitn(3, '_').map(str::parse::<u32>);
        let (Some(Ok(n)), Some(Ok(size))) = (numbers.next(), numbers.next()) else { return false };
        let of_size = self.pool.counts().find(|(made, _)| made.get() == size);
        of_size.is_some_and(|(size, count)| (1..=count).contains(&n) && self.id(size, n) == id.as_str())
    }

    fn id(&self, size: IpuCount, n: u32) -> String {
        format!("{}_{}_{size}_{n}", self.prefix, self.model)
    }

    /// The partitions that an administrator has made, as far as their whole names are given.
    pub fn named(&self) -> impl Iterator<Item = &PartitionId> {
        self.pool.0.iter().filter_map(|part| match part {
            PoolPart::Named(name) => Some(name),
            PoolPart::Made { .. } | PoolPart::Beginning(_) => None,
        })
    }

    /// Whether a partition of this id belongs to the pool.
    pub fn has(&self, id: &PartitionId) -> bool {
        let is_named = self.pool.0.iter().any(|part| match part {
            PoolPart::Made { .. } => false,
            PoolPart::Named(name) => name == id,
            PoolPart::Beginning(name) => id.as_str().starts_with(name.as_str()),
        });
        // The partition of a job is no part of a pool, whatever its name begins with.
        (is_named && id.job(&self.prefix).is_none()) || self.makes(id)
    }
}

impl FromStr for Pool {
    type Err = Words;

    fn from_str(text: &str) -> Result<Self, Words> {
        let parts = text.split(',').map(str::trim).map(part).collect::<Result<Vec<_>, _>>()?;
        for (n, part) in parts.iter().enumerate() {
            let is_again = |earlier: &PoolPart| match (earlier, part) {
                (PoolPart::Made { size, .. }, PoolPart::Made { size: again, .. }) => size == again,
                (earlier, again) => earlier == again,
            };
            if parts[..n].iter().any(is_again) {
                return Err(words!("{part} is there twice"));
            }
        }
        Ok(Self(parts))
    }
}

fn part(text: &str) -> Result<PoolPart, Words> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return made(text);
    }
    let name = |name: &str| PartitionId::new(name).map_err(Words::of);
    match text.strip_suffix('*') {
        Some(beginning) => Ok(PoolPart::Beginning(name(beginning)?)),
        None => Ok(PoolPart::Named(name(text)?)),
    }
}

fn made(text: &str) -> Result<PoolPart, Words> {
    let bad = |why: &str| words!("'{text}' {why}");
    let not_a_part = || bad("is not <IPUs>x<partitions>, as in 16x4");
    let (size, count) = text.split_once(['x', 'X']).ok_or_else(not_a_part)?;
    let (size, count) = (size.parse().map_err(|_| not_a_part())?, count.parse().map_err(|_| not_a_part())?);
    if !(1..=MOST).contains(&count) {
        return Err(bad(&format!("has {count} partitions (1-{MOST})")));
    }
    let size = IpuCount::new(size).map_err(|why| bad(&format!("has no size of a partition: {why}")))?;
    Ok(PoolPart::Made { size, count })
}

impl fmt::Display for PoolPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made { size, .. } => write!(f, "size {size}"),
            Self::Named(name) => write!(f, "{name}"),
            Self::Beginning(name) => write!(f, "{name}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(text: &str) -> Result<Pool, Words> {
        text.parse()
    }

    fn of_model(text: &str, model: &str) -> Result<ModelPool, Words> {
        ModelPool::new(pool(text).unwrap(), "slurm", &ModelName::new(model).unwrap())
    }

    fn id(text: &str) -> PartitionId {
        PartitionId::new(text).unwrap()
    }

    #[test]
    fn a_pool_has_what_we_make_and_what_the_administrator_made() {
        let pool = of_model("16x2, 1x1,big,p4*", "pod64").unwrap();
        let made: Vec<_> = pool.made().map(|(id, size)| format!("{id} of {size}")).collect();
        assert_eq!(made, ["slurm_pod64_16_1 of 16", "slurm_pod64_16_2 of 16", "slurm_pod64_1_1 of 1"]);
        for (name, is_in) in [
            ("slurm_pod64_16_2", true),
            ("slurm_pod64_16_3", false),
            ("big", true),
            ("bigger", false),
            ("p4_1", true),
            ("slurm_17", false),
        ] {
            assert_eq!(pool.has(&id(name)), is_in, "{name}");
        }
    }

    #[test]
    fn the_partition_of_a_job_is_in_no_pool() {
        let all = of_model("s*", "pod64").unwrap();
        assert!(all.has(&id("s4")) && !all.has(&id("slurm_17r1")));
    }

    #[test]
    fn a_model_with_a_long_name_makes_no_partitions_for_a_pool() {
        let long = "a-model-with-quite-a-long-name";
        assert!(of_model("16x1000", long).is_err() && of_model("big", long).is_ok());
        assert!(of_model("slurm_17", "pod64").is_err());
    }

    #[test]
    fn errors_name_the_part() {
        for (text, why) in [
            ("16", "'16' is not <IPUs>x<partitions>, as in 16x4"),
            ("16x", "'16x' is not <IPUs>x<partitions>, as in 16x4"),
            ("12x1", "'12x1' has no size of a partition: 12 IPUs is not a power of two"),
            ("4x0", "'4x0' has 0 partitions (1-4096)"),
            ("16x1,16x2", "size 16 is there twice"),
            ("a,a", "a is there twice"),
            ("4x1,", "partition id '': a letter, then letters, digits, '_' or '-', at most 36 characters"),
        ] {
            assert_eq!(pool(text).unwrap_err(), why, "{text}");
        }
    }
}
