//! The lines of `svipu status` about the pool of a controller.

use std::collections::BTreeMap;

use vipu_status::{Drain, Model, Pod, PoolBlock, PoolState};

use crate::drains;
use crate::page::{Page, Tone};
use crate::safe::cut;
use crate::uses::Use;
use crate::view::View;

/// The partitions out of use that are shown.
const MOST: usize = 8;

/// Adds the number of partitions by size and state, and those that no job gets, with the reasons.
pub(crate) fn add(page: &mut Page, view: &View<'_>, model: &Model, pod: &Pod) {
    if pod.pool.is_empty() && pod.missing.is_empty() {
        return;
    }
    let mut sizes: BTreeMap<u32, Vec<&PoolBlock>> = BTreeMap::new();
    for block in &pod.pool {
        sizes.entry(block.size).or_default().push(block);
    }
    let drains: Vec<_> = drains::of_pod(view, model, pod).collect();
    let words: Vec<_> = sizes.iter().rev().map(|(size, blocks)| of_size(*size, blocks, &drains)).collect();
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

/// As `3 of 16 IPUs (1 used, 1 free, 1 drained)`. Those that a job has are not drained yet.
fn of_size(size: u32, blocks: &[&PoolBlock], drains: &[&Drain]) -> String {
    let is_drained = |block: &PoolBlock| {
        let covers = |drain: &&Drain| drain.is_whole() || drain.partition.as_ref() == Some(&block.partition);
        block.state == PoolState::Free && drains.iter().any(covers)
    };
    let (drained, others): (Vec<&PoolBlock>, Vec<_>) = blocks.iter().partition(|block| is_drained(block));
    let with = |state| others.iter().filter(|block| block.state == state).count();
    let counts = PoolState::ALL.map(|state| (with(state), state.name().replace('_', " ")));
    let counts = counts.into_iter().chain([(drained.len(), Use::Drained.name().0.to_owned())]);
    let states = counts.filter(|(count, _)| *count > 0).map(|(count, state)| format!("{count} {state}"));
    let ipus = if size == 1 { "IPU" } else { "IPUs" };
    format!("{} of {size} {ipus} ({})", blocks.len(), states.collect::<Vec<_>>().join(", "))
}
