//! A simulated V-IPU controller, reduced to its room for partitions.
//!
//! It is not `mock_vipu::Pod`, whose partitions are aligned blocks of the whole Pod: as the ledger counts, a partition
//! larger than an IPU-Link domain takes any free domains here.

use std::collections::BTreeMap;
use std::ops::Range;

use ledger::Place;

use crate::DOMAIN;

/// The place that a controller chooses for a partition if the caller wants none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Lowest,
    /// A block in the largest free block, which is broken up.
    Worst,
}

#[derive(Debug)]
pub struct Controller {
    manner: Manner,
    owner: Vec<Option<u32>>,
    partitions: BTreeMap<u32, Vec<usize>>,
}

impl Controller {
    pub fn new(ipus: u32, manner: Manner) -> Self {
        Self { manner, owner: vec![None; ipus as usize], partitions: BTreeMap::new() }
    }

    /// Makes a job's partition, on the IPUs in `wanted` if it names any. Returns false if there is no room.
    pub fn create(&mut self, job: u32, size: u32, wanted: &[Place]) -> bool {
        let number = |place: &Place| (place.domain * DOMAIN + place.index) as usize;
        let ipus: Vec<usize> = match wanted {
            [] => self.choose(size as usize),
            places => places.iter().map(number).collect(),
        };
        if ipus.is_empty() || ipus.iter().any(|ipu| self.owner[*ipu].is_some()) {
            return false;
        }
        assert_eq!(ipus.len(), size as usize, "job {job} is to have another number of IPUs");
        ipus.iter().for_each(|ipu| self.owner[*ipu] = Some(job));
        let before = self.partitions.insert(job, ipus);
        assert_eq!(before, None, "job {job} has a partition already");
        true
    }

    pub fn remove(&mut self, job: u32) {
        for ipu in self.partitions.remove(&job).unwrap_or_default() {
            let owner = self.owner[ipu].take();
            assert_eq!(owner, Some(job), "IPU {ipu} has two owners");
        }
    }

    pub fn partitions(&self) -> impl Iterator<Item = (u32, Vec<Place>)> {
        let place = |ipu: &usize| Place { domain: *ipu as u32 / DOMAIN, index: *ipu as u32 % DOMAIN };
        self.partitions.iter().map(move |(job, ipus)| (*job, ipus.iter().map(place).collect()))
    }

    /// The IPUs for a partition of this size; none if no block is free.
    fn choose(&self, size: usize) -> Vec<usize> {
        let unit = size.min(DOMAIN as usize);
        let blocks = (0..self.owner.len() / unit).map(|n| n * unit..(n + 1) * unit);
        let mut free: Vec<_> = blocks.filter(|block| self.is_free(block)).collect();
        if self.manner == Manner::Worst {
            free.sort_by_key(|block| std::cmp::Reverse(self.free_around(block)));
        }
        let pieces = size / unit;
        if free.len() < pieces { Vec::new() } else { free.into_iter().take(pieces).flatten().collect() }
    }

    fn is_free(&self, block: &Range<usize>) -> bool {
        self.owner[block.clone()].iter().all(Option::is_none)
    }

    /// The size of the largest free block around this one.
    fn free_around(&self, block: &Range<usize>) -> usize {
        let around = |size: usize| block.start / size * size..(block.start / size + 1) * size;
        let sizes = std::iter::successors(Some(block.len()), |size| Some(2 * size));
        let free = sizes.take_while(|size| {
            *size <= (DOMAIN as usize).min(self.owner.len()) && self.is_free(&around(*size))
        });
        free.last().unwrap_or(0)
    }
}
