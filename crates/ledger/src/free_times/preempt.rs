//! Which partitions have to go so that another fits.

use std::collections::BTreeSet;
use std::ops::Range;

use vipu_types::IpuCount;

use super::timeline::Timeline;

/// What would become of an IPU if candidates went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPreemption {
    /// It is free, or will be without any more of them going.
    Free,
    /// It is the candidate's of this number.
    Candidate(usize),
    /// Whoever has it stays.
    Stays,
}

/// The fewest candidates whose IPUs, with the free ones, hold a partition of this size, beside what is kept
/// for the `above` plans of highest rank. Of equally many, those with the lowest numbers.
pub(super) fn fewest(
    pod: &Timeline,
    after: &[AfterPreemption],
    size: IpuCount,
    above: usize,
) -> Option<Vec<usize>> {
    let (unit, pieces) = pod.shape(size);
    let cost = |ipus: Range<usize>| {
        let after = after.get(ipus.clone()).filter(|_| !pod.is_kept(&ipus, above))?;
        let who = after.iter().filter(|ipu| **ipu != AfterPreemption::Free).map(|ipu| match ipu {
            AfterPreemption::Candidate(number) => Some(*number),
            _ => None,
        });
        who.collect::<Option<BTreeSet<usize>>>()
    };
    let mut costs: Vec<_> = pod.units(unit).filter_map(cost).collect();
    costs.sort_by_cached_key(|who| (who.len(), who.iter().sum::<usize>()));
    // Over several domains the cheapest of each: who has IPUs in two of them counts once in the union.
    let chosen = costs.get(..pieces)?.iter().flatten().copied().collect::<BTreeSet<_>>();
    Some(chosen.into_iter().collect())
}
