//! The causes for which a job waits.

use std::collections::BTreeSet;

use serde::Serialize;
use vipu_forecast::{ModelForecast, Start};
use vipu_status::{Contact, Model, Partition, Place, Pod, Rank, Share, State, UNLIMITED, WaitingJob};

use super::waiting::{Waiting, slurm_partition};
use crate::ipu_use::Use;
use crate::job_queue::priority;
use crate::times::span;
use crate::view::View;
use crate::{drains, names, safe};

/// A cause, or an advice.
#[derive(Serialize)]
pub(crate) struct Sentence {
    /// The kind of the cause or advice, for programs.
    kind: &'static str,
    pub(crate) text: String,
}

impl Sentence {
    pub(crate) fn new(kind: &'static str, text: String) -> Self {
        Self { kind, text }
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }
}

/// The text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The model is not in the document.
pub(super) fn no_model(view: &View<'_>, row: &WaitingJob) -> Sentence {
    let known: Vec<_> = view.all.models.iter().map(|model| safe::cut(&model.name, 30)).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let text =
        format!("The cluster has no Pod model {} now: known models are {known}.", safe::cut(&row.model, 30));
    Sentence::new("no_model", text)
}

/// The plugin, the model, its controllers, and drains.
pub(crate) fn stops(view: &View<'_>, model: &Model, now: i64) -> Vec<Sentence> {
    let mut causes = Vec::new();
    let name = safe::cut(&model.name, 30);
    if let Some(why) = &view.all.out_of_order {
        let why = safe::cut(why, 200);
        let text =
            format!("No job with IPUs starts until slurmctld is restarted: {why}. Tell your administrator.");
        causes.push(Sentence::new("out_of_order", text));
    }
    if let Some(why) = &model.trouble {
        // The sentence about a lost controller says the same.
        let tells = |pod: &Pod| matches!(&pod.contact, Contact::Lost { reason, .. } if why.contains(reason));
        let is_told = model.pods.iter().any(tells);
        let why = if is_told { String::new() } else { format!(": {}", safe::cut(why, 200)) };
        let text = format!("No job can start on {name} now{why}.");
        causes.push(Sentence::new("trouble", text));
    }
    if !model.conf.in_force {
        let why = model.conf.error.as_deref().map(|why| format!(": {}", safe::cut(why, 200)));
        let text = format!("No settings of {name} are in force{}.", why.unwrap_or_default());
        causes.push(Sentence::new("no_settings", text));
    }
    causes.extend(model.pods.iter().filter_map(|pod| controller(now, pod)));
    let sentences = drains::sentences(view, model);
    causes.extend(sentences.into_iter().map(|text| Sentence::new("drained", text)));
    causes
}

/// A controller that does not answer, or on which no partition can be made.
fn controller(now: i64, pod: &Pod) -> Option<Sentence> {
    let name = safe::cut(&pod.controller, 60);
    let ipus = match pod.ipus.total {
        0 => String::new(),
        total => format!(" Its {} cannot be had until it answers.", names::ipus(total)),
    };
    match (&pod.contact, &pod.trouble) {
        (Contact::NotYet, _) => {
            let text = format!("Controller {name} has not answered since slurmctld was started.{ipus}");
            Some(Sentence::new("controller_away", text))
        }
        (Contact::Lost { since, reason }, _) => {
            let ago = span(now.saturating_sub(*since));
            let prefix = format!("controller {}: ", pod.controller);
            let reason = safe::cut(reason.strip_prefix(&prefix).unwrap_or(reason), 200);
            let text = format!("Controller {name} was lost {ago} ago: {reason}.{ipus}");
            Some(Sentence::new("controller_away", text))
        }
        (Contact::Reached { .. }, Some(why)) => {
            let text = format!("Controller {name} can make no partition now: {}.", safe::cut(why, 200));
            Some(Sentence::new("controller_trouble", text))
        }
        (Contact::Reached { .. }, None) => None,
    }
}

/// The limits that the job breaks.
pub(super) fn limits(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let mut causes = Vec::new();
    let (size, limits) = (waiting.row.size, &waiting.model.limits);
    let model = safe::cut(&waiting.model.name, 30);
    if size > limits.job {
        let text = format!("A job on {model} gets at most {}.", names::ipus(limits.job));
        causes.push(Sentence::new("limit_job", text));
    }
    let qos = waiting.row.job.as_deref().and_then(|job| job.qos.as_deref());
    let of_qos = |name| Some((name, *limits.job_in_qos.get(name)?));
    if let Some((name, limit)) = qos.and_then(of_qos).filter(|(_, limit)| size > *limit) {
        let text =
            format!("A job of QOS {} gets at most {} of {model}.", safe::cut(name, 30), names::ipus(limit));
        causes.push(Sentence::new("limit_qos", text));
    }
    let Some(name) = slurm_partition(waiting.row) else { return causes };
    let shown = safe::cut(name, 30);
    if let Some(limit) = limits.job_in_slurm_partition.get(name).filter(|limit| size > **limit) {
        let text =
            format!("A job in Slurm partition {shown} gets at most {} of {model}.", names::ipus(*limit));
        causes.push(Sentence::new("limit_slurm_partition", text));
    }
    if let Some(Share { limit, used }) = limits.slurm_partition.get(name)
        && used.saturating_add(size.into()) > (*limit).into()
    {
        let text = format!(
            "The jobs of Slurm partition {shown} have {used} of at most {} of {model}, so that this job has to wait \
             until others of them end.",
            names::ipus(*limit)
        );
        causes.push(Sentence::new("share", text));
    }
    causes
}

/// The holders that are named.
const MOST_HOLDERS: usize = 5;

/// The free IPUs, if the job needs more.
pub(super) fn room(waiting: &Waiting<'_>) -> Vec<Sentence> {
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
            let text = format!("It needs {needs}, and {free} free now.");
            Sentence::new("too_few_free", text)
        }
        false => {
            let text = format!(
                "It needs one block of {needs}. {free} of the {total} IPUs of {model} are free now, but the largest free \
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
    let others_wait = !waits && waiting.common_start().is_none_or(|at| at > waiting.now);
    match waits {
        false if others_wait => {
            let text = format!("{block}, but not for all components of the job, which start together.");
            Some(Sentence::new("components", text))
        }
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

/// The jobs of one kind that are named.
const MOST_NAMED: usize = 3;

/// What puts a job before another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Reservation,
    Tier,
    Priority,
    Age,
}

impl Before {
    const ALL: [Self; 4] = [Self::Reservation, Self::Tier, Self::Priority, Self::Age];

    fn of(first: Rank, second: Rank) -> Self {
        if first.in_reservation != second.in_reservation {
            Self::Reservation
        } else if first.tier != second.tier {
            Self::Tier
        } else if first.priority != second.priority {
            Self::Priority
        } else {
            Self::Age
        }
    }

    /// The kind of the cause, and the words behind the name of the job.
    fn words(self, first: Rank, second: Rank) -> (&'static str, String, String) {
        let tier = second.tier;
        match self {
            Self::Reservation => {
                ("reservation", String::new(), "jobs with an advance reservation come first".to_owned())
            }
            Self::Tier => (
                "tier",
                format!(", PriorityTier {}", first.tier),
                format!("the PriorityTier of the Slurm partition is higher than {tier}"),
            ),
            Self::Priority => match (priority(first), priority(second)) {
                (Some(first), Some(second)) => (
                    "priority",
                    format!(", priority {first}"),
                    format!("the priority is higher than {second}"),
                ),
                _ => ("priority", String::new(), "older jobs come first".to_owned()),
            },
            Self::Age => (
                "age",
                String::new(),
                format!("the priority, {}, is the same, and older jobs come first", second.priority),
            ),
        }
    }
}

/// The jobs before this one by what puts them there, and the job behind which it has to start.
pub(super) fn ahead(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let mut causes: Vec<_> = Before::ALL.into_iter().filter_map(|before| group(waiting, before)).collect();
    let behind = waiting.row.behind.and_then(|key| waiting.ahead.iter().find(|other| other.key == key));
    causes.extend(behind.map(|first| plan(waiting, first)));
    if waiting.is_far_back() {
        let text = format!(
            "{} jobs are ahead of it in line. Only the first {} have a plan, so that the others may still delay it.",
            waiting.ahead.len(),
            ModelForecast::PLANS
        );
        causes.push(Sentence::new("far_back", text));
    }
    causes
}

fn group(waiting: &Waiting<'_>, before: Before) -> Option<Sentence> {
    let rank = waiting.row.rank;
    let jobs: Vec<_> = waiting.ahead.iter().filter(|other| Before::of(other.rank, rank) == before).collect();
    let first = jobs.first()?;
    let (kind, _, why) = before.words(first.rank, rank);
    let name = |other: &&&WaitingJob| {
        let (_, detail, _) = before.words(other.rank, rank);
        format!("{} ({}{detail})", waiting.view.owner(other.job.as_deref()), names::ipus(other.size))
    };
    let mut named: Vec<_> = jobs.iter().take(MOST_NAMED).map(name).collect();
    if jobs.len() > MOST_NAMED {
        named.push(format!("{} more", jobs.len() - MOST_NAMED));
    }
    Some(Sentence::new(kind, format!("Ahead of it in line, because {why}: {}.", named.join(", "))))
}

/// The plan that the job must not delay.
fn plan(waiting: &Waiting<'_>, first: &WaitingJob) -> Sentence {
    let owner = waiting.view.owner(first.job.as_deref());
    let at =
        first.start.map(|at| format!(", which is planned {}", waiting.view.moment(at))).unwrap_or_default();
    let text = format!(
        "It has to wait for the start of {owner}{at}: before that it might get IPUs that this plan needs."
    );
    Sentence::new("plan", text)
}
