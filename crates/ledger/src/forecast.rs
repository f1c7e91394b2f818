//! When a partition will fit.

use std::collections::HashSet;

use vipu_types::{IpuCount, ModelName, PartitionId, PodId};

use crate::Ledger;
use crate::claims::Serial;

/// Claims whose IPUs are taken to be free again.
#[derive(Default)]
pub(crate) struct Released<'a> {
    pub(crate) partitions: HashSet<&'a PartitionId>,
    pub(crate) serials: HashSet<Serial>,
}

impl Ledger {
    /// The end of the running job whose release first makes room for a partition of this size.
    ///
    /// `end_of` tells when a job will have ended at the latest, in whatever way the caller counts time;
    /// for one that has ended, whose partition is on its way out, that is now. `None` when no end of a
    /// job helps: no controller answers, or others have the IPUs.
    ///
    /// Costs, for each controller, a count of its free blocks for each doubling of the number of claims.
    pub fn earliest<T: Ord + Copy>(
        &self,
        model: &ModelName,
        size: IpuCount,
        end_of: impl Fn(u32) -> T,
    ) -> Option<T> {
        let model = self.models.get(model)?;
        model.usable().ok()?;
        model.pods().iter().filter_map(|pod| self.earliest_on(pod, size, &end_of)).min()
    }

    /// The same for one of its Pods.
    fn earliest_on<T: Ord + Copy>(
        &self,
        id: &PodId,
        size: IpuCount,
        end_of: &impl Fn(u32) -> T,
    ) -> Option<T> {
        let pod = self.pods.get(id)?;
        if !pod.is_reached() {
            return None;
        }
        let mut ends: Vec<_> = self
            .claims
            .of_pod(id)
            .map(|(serial, record)| (end_of(record.claim.run.job), serial, &record.claim.partition))
            .collect();
        ends.sort_unstable();
        let fits_after = |count: usize| {
            let mut released = Released::default();
            for (_, serial, partition) in &ends[..count] {
                released.partitions.insert(partition);
                released.serials.insert(*serial);
            }
            pod.counted_without(&released).largest() >= size.get()
        };
        // Room only grows from end to end, so the first that suffices is found by halving.
        let counts: Vec<usize> = (1..=ends.len()).collect();
        let first = counts.partition_point(|&count| !fits_after(count));
        ends.get(first).map(|(end, ..)| *end)
    }
}
