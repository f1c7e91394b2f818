//! A controller that puts partitions into any free block, whatever the ledger expects.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Claim, Place};
use vipu_types::PartitionId;

pub struct Controller {
    pub ipus: u32,
    pub domain: u32,
    pub partitions: BTreeMap<PartitionId, Vec<Place>>,
    /// IPUs that no partition can use any more, whether it says so or not.
    pub broken: BTreeSet<Place>,
    pub tells: bool,
}

impl Controller {
    pub fn new(ipus: u32, domain: u32) -> Self {
        Self { ipus, domain, partitions: BTreeMap::new(), broken: BTreeSet::new(), tells: false }
    }

    /// Makes the claim's partition if there is room; whether it exists now.
    pub fn create(&mut self, claim: &Claim, pick: u32) -> bool {
        self.partitions.contains_key(&claim.partition) || self.place(&claim.partition, claim.size.get(), pick)
    }

    /// Makes somebody else's partition if there is room, or removes one.
    pub fn meddle(&mut self, pick: u32) {
        let id = PartitionId::new(format!("foreign_{}", pick % 3)).unwrap();
        if !self.remove(&id) {
            self.place(&id, 1 << (pick % 4), pick);
        }
    }

    /// An IPU breaks; or all are mended.
    pub fn wear(&mut self, pick: u32) {
        self.tells = pick.is_multiple_of(2);
        if pick.is_multiple_of(5) {
            self.broken.clear();
        } else {
            let ipu = pick / 10 % self.ipus;
            self.broken.insert(self.place_of(ipu));
        }
    }

    /// How many IPUs it says to be faulty: not those of partitions.
    pub fn faulty(&self) -> u32 {
        if self.tells { self.unusable() } else { 0 }
    }

    fn unusable(&self) -> u32 {
        let used: BTreeSet<&Place> = self.partitions.values().flatten().collect();
        self.broken.iter().filter(|place| !used.contains(place)).count() as u32
    }

    fn place_of(&self, ipu: u32) -> Place {
        Place { domain: ipu / self.domain, index: ipu % self.domain }
    }

    pub fn remove(&mut self, id: &PartitionId) -> bool {
        self.partitions.remove(id).is_some()
    }

    /// IPUs in no partition that work.
    pub fn free(&self) -> u32 {
        self.ipus - self.partitions.values().map(|places| places.len() as u32).sum::<u32>() - self.unusable()
    }

    fn place(&mut self, id: &PartitionId, size: u32, pick: u32) -> bool {
        let block = size.min(self.domain);
        let used: Vec<Place> = self.partitions.values().flatten().chain(&self.broken).copied().collect();
        let mut free: Vec<Vec<Place>> = (0..self.ipus / block)
            .map(|n| (n * block..(n + 1) * block).map(|ipu| self.place_of(ipu)).collect())
            .filter(|places: &Vec<Place>| places.iter().all(|place| !used.contains(place)))
            .collect();
        let blocks = (size / block) as usize;
        if free.len() < blocks {
            return false;
        }
        let turn = pick as usize % free.len();
        free.rotate_left(turn);
        self.partitions.insert(id.clone(), free.into_iter().take(blocks).flatten().collect());
        true
    }
}
