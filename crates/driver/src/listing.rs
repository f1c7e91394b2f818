//! A controller's listing for a model: all of the controller, or the model's allocation only.
//!
//! The user API names the allocation of each partition, but not the IPUs of an allocation. The agents of an
//! allocation are therefore in the configuration (AllocationAgents).

use std::hash::{DefaultHasher, Hash, Hasher};

use ledger::{PoolBlock, PoolPartition, SeenPartition};
use vipu_client::{Client, Error, Ipu, PartitionInfo, ReadyState};
use vipu_types::{IpuCount, PartitionId, Place};

use crate::broken_hosts::BrokenHosts;
use crate::{Listing, ModelSettings};

/// The attribute of an IPU that names its partition.
const PARTITION: &str = "ipuof partition id";

/// Asks for the listing that these settings need.
pub(crate) async fn ask(client: &Client, settings: &ModelSettings) -> Result<Listing, Error> {
    let agents = &settings.allocation_agents;
    let in_pool = |id: &PartitionId| settings.has_in_pool(id);
    let (ipus, all) = (client.list_ipus(agents), client.list_partitions(None));
    let Some(allocation) = settings.allocation.as_deref() else {
        let (ipus, all) = tokio::try_join!(ipus, all)?;
        let listing = Listing::of(&ipus, all, in_pool);
        return Ok(match &settings.hosts {
            Some(map) => {
                let broken_hosts = BrokenHosts::of(map, &ipus, is_unusable, settings.domain_size.get());
                Listing { faulty: 0, broken_hosts, ..listing }
            }
            None => listing,
        });
    };
    let own = client.list_partitions(Some(allocation));
    if agents.is_empty() {
        // The third call makes a missing allocation an error here, and not only when a partition is
        // requested.
        let (ipus, all, _) = tokio::try_join!(ipus, all, own)?;
        return Ok(Listing::of(&ipus, all, in_pool));
    }
    let (ipus, own) = tokio::try_join!(ipus, own)?;
    let (count, domain) = (ipus.len() as u64, u64::from(settings.domain_size.get()));
    Ok(summary(&ipus, own, in_pool, |place| in_part(place, count, domain)))
}

/// The place of an IPU inside an allocation of this many IPUs. No call tells where an allocation begins. It
/// is taken to begin at a multiple of its size, as a partition of that size would.
fn in_part(place: Place, ipus: u64, domain: u64) -> Place {
    let (domains, size) = (ipus.div_ceil(domain).max(1), ipus.next_power_of_two().min(domain));
    let within = |number: u32, period: u64| u32::try_from(u64::from(number) % period).unwrap_or(number);
    Place { domain: within(place.domain, domains), index: within(place.index, size) }
}

impl Listing {
    /// The listing of a whole controller, from its replies. `in_pool` tells which partitions are of its pool.
    pub fn of(ipus: &[Ipu], partitions: Vec<PartitionInfo>, in_pool: impl Fn(&PartitionId) -> bool) -> Self {
        summary(ipus, partitions, in_pool, |place| place)
    }
}

/// Whether no partition can have an IPU. One of a partition counts as used already, whether it works or not.
fn is_unusable(ipu: &Ipu) -> bool {
    ipu.fault().is_some() && !ipu.attributes.contains_key(PARTITION)
}

fn summary(
    ipus: &[Ipu],
    partitions: Vec<PartitionInfo>,
    in_pool: impl Fn(&PartitionId) -> bool,
    place: impl Fn(Place) -> Place,
) -> Listing {
    let faulty = ipus.iter().filter(|ipu| is_unusable(ipu)).count();
    let mut pool = Vec::new();
    let mut all = Vec::new();
    for partition in partitions {
        let (gcds, is_reconfigurable) = (partition.num_gcds, partition.reconfigurable);
        let is_ready = partition.ready != ReadyState::Pending;
        let Some(seen) = seen(partition, &place) else { continue };
        all.push(seen.clone());
        let size = IpuCount::new(seen.places.len() as u64).ok();
        if let Some(size) = size.filter(|_| in_pool(&seen.partition)) {
            // One that is being reset is in the pool as before.
            let block = PoolBlock { size, is_reconfigurable };
            pool.push(PoolPartition { seen, block, gcds, is_ready });
        }
    }
    Listing {
        ipus: u32::try_from(ipus.len()).unwrap_or(u32::MAX),
        faulty: u32::try_from(faulty).unwrap_or(u32::MAX),
        partitions: all,
        pool,
        broken_hosts: BrokenHosts::default(),
    }
}

fn seen(partition: PartitionInfo, place: impl Fn(Place) -> Place) -> Option<SeenPartition> {
    let id = PartitionId::new(partition.id.as_str()).or_else(|_| PartitionId::new(stand_in(&partition.id)));
    let places = partition.places.into_iter().map(place);
    let fault = (partition.ready == ReadyState::Error).then(|| "it is in error".into());
    let leaving = partition.ready == ReadyState::Removed;
    Some(SeenPartition { places: places.collect(), partition: id.ok()?, fault, leaving })
}

/// A substitute id for a partition of others whose name is not a valid id. Its IPUs count all the same.
fn stand_in(name: &str) -> String {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("foreign-{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn partition(id: &str, allocation: &str, places: &[(u32, u32)]) -> PartitionInfo {
        PartitionInfo {
            id: id.into(),
            ready: ReadyState::Active,
            places: places.iter().map(|&(domain, index)| Place { domain, index }).collect(),
            allocation: allocation.into(),
            cluster: String::new(),
            reconfigurable: false,
            num_gcds: 1,
            num_replicas: 1,
        }
    }

    #[test]
    fn a_foreign_partition_counts_under_any_name() {
        let names = ["p 1", "p 2", "p64", ""];
        let ids: Vec<_> = names
            .map(|id| {
                let seen = seen(partition(id, "", &[(1, 7)]), |place| place).unwrap();
                assert_eq!(seen.places, [Place { domain: 1, index: 7 }]);
                seen.partition.to_string()
            })
            .into();
        assert_eq!(ids[2], "p64");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn an_allocation_is_seen_from_its_own_beginning() {
        let at = |domain, index| Place { domain, index };
        for (place, ipus, within) in [
            (at(0, 20), 16, at(0, 4)),
            (at(0, 63), 32, at(0, 31)),
            (at(3, 5), 64, at(0, 5)),
            (at(3, 5), 128, at(1, 5)),
            (at(0, 21), 12, at(0, 5)),
        ] {
            assert_eq!(in_part(place, ipus, 64), within, "{place:?} of {ipus}");
        }
    }
}
