//! A controller that puts partitions into any free block, whatever the ledger expects.

use std::collections::BTreeMap;

use ledger::{Claim, Place};
use vipu_types::PartitionId;

pub struct Controller {
    pub ipus: u32,
    pub domain: u32,
    pub partitions: BTreeMap<PartitionId, Vec<Place>>,
}

impl Controller {
    pub fn new(ipus: u32, domain: u32) -> Self {
        Self { ipus, domain, partitions: BTreeMap::new() }
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

    pub fn remove(&mut self, id: &PartitionId) -> bool {
        self.partitions.remove(id).is_some()
    }

    /// IPUs in no partition.
    pub fn free(&self) -> u32 {
        self.ipus - self.partitions.values().map(|places| places.len() as u32).sum::<u32>()
    }

    fn place(&mut self, id: &PartitionId, size: u32, pick: u32) -> bool {
        let block = size.min(self.domain);
        let used: Vec<Place> = self.partitions.values().flatten().copied().collect();
        let mut free: Vec<Vec<Place>> = (0..self.ipus / block)
            .map(|n| {
                (n * block..(n + 1) * block)
                    .map(|ipu| Place { domain: ipu / self.domain, index: ipu % self.domain })
            })
            .map(Iterator::collect)
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
