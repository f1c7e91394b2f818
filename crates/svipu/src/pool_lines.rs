//! The lines of `svipu status` about the pool of a controller.

use std::collections::BTreeMap;

use vipu_status::{Pod, PoolBlock, PoolState};

use crate::page::{Page, Tone};
use crate::safe::cut;

/// The partitions out of use that are shown.
const MOST: usize = 8;

/// Adds the number of partitions by size and state, and those that no job gets, with the reasons.
pub(crate) fn add(page: &mut Page, pod: &Pod) {
    if pod.pool.is_empty() && pod.missing.is_empty() {
        return;
    }
    let mut sizes: BTreeMap<u32, Vec<&PoolBlock>> = BTreeMap::new();
    for block in &pod.pool {
        sizes.entry(block.size).or_default().push(block);
    }
    let words: Vec<_> = sizes.iter().rev().map(|(size, blocks)| of_size(*size, blocks)).collect();
    page.line(&format!(
        "    pool: {}",
        if words.is_empty() { "no partition".into() } else { words.join("; ") }
    ));
    let out_of_use = pod.pool.iter().filter(|block| block.state == PoolState::OutOfUse);
    let why = |block: &PoolBlock| block.reason.clone().unwrap_or_default();
    let out_of_use = out_of_use.map(|block| (block.partition.clone(), "out of use", why(block)));
    let missing = pod.missing.iter().map(|(id, why)| (id.clone(), "missing", why.clone()));
    let all: Vec<_> = out_of_use.chain(missing).collect();
    for (id, state, why) in all.iter().take(MOST) {
        let line = format!("      {} is {state}: {}", cut(id, 36), cut(why, 120));
        page.toned(&[(Tone::Red, &line)]);
    }
    if all.len() > MOST {
        page.line(&format!("      and {} more: svipu --json", all.len() - MOST));
    }
}

/// As `3 of 16 IPUs (2 used, 1 free)`.
fn of_size(size: u32, blocks: &[&PoolBlock]) -> String {
    let states = PoolState::ALL.into_iter().filter_map(|state| {
        let count = blocks.iter().filter(|block| block.state == state).count();
        (count > 0).then(|| format!("{count} {}", state.name().replace('_', " ")))
    });
    let ipus = if size == 1 { "IPU" } else { "IPUs" };
    format!("{} of {size} {ipus} ({})", blocks.len(), states.collect::<Vec<_>>().join(", "))
}
