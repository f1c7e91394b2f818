//! The choice of partitions that have to go for another one.

use std::collections::BTreeSet;
use std::ops::Range;

use vipu_types::IpuCount;

use super::timeline::Timeline;
use crate::Layout;

/// The state of an IPU after the preemption of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPreemption {
    /// Free, or going to be free without a further candidate.
    Free,
    /// Held by the candidate of this number.
    Candidate(usize),
    /// Held by a holder that stays.
    Stays,
}

/// The fewest candidates whose IPUs, together with the free ones, hold a partition of this size on a Pod without
/// plans. Of equally many, the candidates with the lowest numbers.
pub(crate) fn fewest_for(
    ipus: u32,
    layout: &Layout,
    after: &[AfterPreemption],
    size: IpuCount,
) -> Option<Vec<usize>> {
    fewest(&Timeline::new(ipus, layout, []), after, size, 0)
}

/// The fewest candidates whose IPUs, together with the free ones, hold a partition of this size beside the
/// slots of the `above` plans of highest rank. Of equally many, the candidates with the lowest numbers.
pub(super) fn fewest(
    pod: &Timeline,
    after: &[AfterPreemption],
    size: IpuCount,
    above: usize,
) -> Option<Vec<usize>> {
    let (_, pieces) = pod.shape(size);
    let cost = |ipus: Range<usize>| {
        let after = after.get(ipus.clone()).filter(|_| !pod.is_kept(&ipus, above))?;
        let who = after.iter().filter(|ipu| **ipu != AfterPreemption::Free).map(|ipu| match ipu {
            AfterPreemption::Candidate(number) => Some(*number),
            _ => None,
        });
        who.collect::<Option<BTreeSet<usize>>>()
    };
    let mut costs: Vec<_> = pod.candidates(size).into_iter().filter_map(cost).collect();
    costs.sort_by_cached_key(|who| (who.len(), who.iter().sum::<usize>()));
    // The cheapest domains are combined. A candidate with IPUs in two of them counts once in the union.
    let chosen = costs.get(..pieces)?.iter().flatten().copied().collect::<BTreeSet<_>>();
    Some(chosen.into_iter().collect())
}
