//! The IPUs: how many are free, and who has those of the planned block.

use std::collections::BTreeSet;

use vipu_forecast::Start;
use vipu_status::{Partition, Place, State, UNLIMITED, WaitingJob};

use super::sentence::{Sentence, capital};
use super::waiting::Waiting;
use crate::uses::Use;
use crate::{names, safe};

/// The holders that are named.
const MOST_HOLDERS: usize = 5;

/// The free IPUs, if the job needs more.
pub(super) fn causes(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let pods: Vec<_> = waiting.pods().collect();
    let (size, model) = (waiting.row.size, safe::cut(&waiting.model.name, 30));
    let sum = |kind: Use| pods.iter().map(|pod| u64::from(kind.count(&pod.ipus))).sum::<u64>();
    let (free, largest) = (sum(Use::Free) + sum(Use::Idle), waiting.largest_free());
    if pods.is_empty() {
        return Vec::new();
    }
    if largest >= size {
        return block_is_free(waiting).into_iter().collect();
    }
    let total: u64 = pods.iter().map(|pod| u64::from(pod.ipus.total)).sum();
    let needs = names::ipus(size);
    let mut causes = vec![match free < size.into() {
        true => {
            let free = match free {
                0 => format!("none of the {total} IPUs of {model} is"),
                1 => format!("only 1 of the {total} IPUs of {model} is"),
                _ => format!("only {free} of the {total} IPUs of {model} are"),
            };
            let text = format!("It needs {needs}, and {free} free.");
            Sentence::new("too_few_free", text)
        }
        false => {
            let text = format!(
                "It needs one block of {needs}. {free} of the {total} IPUs of {model} are free, but the largest free \
                 block has {largest}."
            );
            Sentence::new("no_block", text)
        }
    }];
    let unusable = [
        (Use::Kept, "in partitions that are kept for failed jobs (--ipu-keep)"),
        (Use::Foreign, "in partitions that are not of this cluster's jobs"),
        (Use::Unusable, "in partitions of the pool that are out of use"),
        (Use::Faulty, "faulty"),
        (Use::Suspected, "suspected (the controller refused without an apparent reason)"),
        (Use::Drained, "drained"),
    ];
    let unusable = unusable.map(|(kind, words)| (sum(kind), words));
    let are = |count: &u64| if *count == 1 { "is" } else { "are" };
    let unusable = unusable.iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = unusable.map(|(count, words)| format!("{count} {} {words}", are(count))).collect();
    if !words.is_empty() {
        causes
            .push(Sentence::new("unusable", format!("Of the IPUs that are not free, {}.", words.join(", "))));
    }
    causes
}

/// The cause for which a job waits although a block of its size is free.
fn block_is_free(waiting: &Waiting<'_>) -> Option<Sentence> {
    let block = format!("A block of {} is free", names::ipus(waiting.row.size));
    let waits = waiting.start().is_none_or(|start| start.at > waiting.now);
    match waits {
        true if waiting.lacks_only_nodes() => None,
        // The plan that it has to wait for has a sentence of its own.
        true if waiting.ahead.is_empty() || waiting.row.behind.is_some() => None,
        true => {
            let text = format!("{block}, but a job ahead of it would get its own block later than planned.");
            Some(Sentence::new("kept_for_plan", text))
        }
        false => {
            let text = format!("{block}: it waits until Slurm looks at it again, or for more than IPUs.");
            Some(Sentence::new("free_now", text))
        }
    }
}

/// The holders of the block in which the job is planned to start, now and before it. None if another block is free and
/// the job waits for nodes.
pub(super) fn planned_block(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let waits = |start: &Start| start.at > waiting.now && !waiting.lacks_only_nodes();
    let Some(start) = waiting.start().filter(|start| waits(start) && !start.places.is_empty()) else {
        return Vec::new();
    };
    let block: BTreeSet<_> = start.places.iter().copied().collect();
    let common = |places: &[Place]| places.iter().filter(|place| block.contains(place)).count();
    let here = |entry: &&Partition| {
        let is_free = entry.state == State::Idle;
        !is_free && entry.model == waiting.model.name && entry.controller == start.controller
    };
    let partitions = waiting.view.all.partitions.iter().filter(here);
    let mut holders: Vec<_> = partitions
        .filter(|entry| common(&entry.places) > 0)
        .map(|entry| holder(waiting, entry, common(&entry.places)))
        .collect();
    let planned =
        waiting.ahead.iter().filter(|other| other.planned_controller.as_ref() == Some(&start.controller));
    holders.extend(
        planned
            .filter(|other| common(&other.planned_places) > 0)
            .filter_map(|other| comes(waiting, other, &start)),
    );
    let more = holders.len().saturating_sub(MOST_HOLDERS);
    holders.truncate(MOST_HOLDERS);
    match more {
        0 => {}
        1 => holders.push(Sentence::new("holder", "1 more job has or gets IPUs of this block.".to_owned())),
        _ => {
            holders.push(Sentence::new("holder", format!("{more} more jobs have or get IPUs of this block.")))
        }
    }
    holders
}

/// The holder of some IPUs of the block.
fn holder(waiting: &Waiting<'_>, entry: &Partition, count: usize) -> Sentence {
    let owner = capital(&waiting.view.owner(entry.job.as_deref()));
    let until = match (entry.state, entry.ends) {
        (State::Kept, Some(at)) => format!(", kept after its failure until {}", waiting.view.time(at)),
        (State::Ending | State::Resetting | State::Removing | State::Failed, _) => {
            ", about to be removed".to_owned()
        }
        (_, Some(at)) => format!(", until {} at the latest", waiting.view.time(at)),
        (_, None) if entry.unlimited => ": it has no time limit, so its end is unknown".to_owned(),
        (_, None) => ", and its end is unknown".to_owned(),
    };
    let ipus = names::ipus(u32::try_from(count).unwrap_or(u32::MAX));
    Sentence::new("holder", format!("{owner} has {ipus} of the planned block{until}."))
}

/// A job before this one that is planned to start there earlier.
fn comes(waiting: &Waiting<'_>, other: &WaitingJob, start: &Start) -> Option<Sentence> {
    let at = other.start.filter(|at| *at < start.at)?;
    let owner = capital(&waiting.view.owner(other.job.as_deref()));
    let from = waiting.view.time(at);
    let text = match other.duration {
        UNLIMITED.. => format!("{owner} is planned there before it, from {from}, without a time limit."),
        seconds => {
            let end = waiting.view.time(at.saturating_add_unsigned(seconds));
            format!("{owner} is planned there before it, from {from} until {end} at the latest.")
        }
    };
    Some(Sentence::new("planned_before", text))
}
