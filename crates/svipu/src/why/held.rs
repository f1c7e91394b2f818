//! A job that has a partition.

use vipu_status::{Partition, State};

use super::sentence::{Answer, Sentence, capital};
use crate::times::span;
use crate::view::View;
use crate::{names, partition_list, safe};

/// What the job's partition does.
pub(super) fn answer(view: &View<'_>, partition: &Partition) -> Answer {
    let ago = span(view.surroundings.now.saturating_sub(partition.since));
    let owner = capital(&view.owner(partition.job.as_deref()));
    let id = partition.id.as_deref().map(|id| format!("Partition {}", safe::cut(id, 40)));
    let what = format!(
        "{}: {} of {}, places {} of controller {}",
        id.unwrap_or_else(|| "Its partition".to_owned()),
        names::ipus(partition.size),
        safe::cut(&partition.model, 30),
        partition_list::place(partition),
        safe::cut(&partition.controller, 60)
    );
    let until =
        |words: &str| partition.ends.map_or_else(String::new, |at| format!(" {words} {}", view.time(at)));
    let ready = match partition.ready_expected {
        Some(at) => format!(" It is expected to be ready {}.", view.moment(at)),
        None => String::new(),
    };
    let why = partition.reason.as_deref().filter(|why| !why.is_empty());
    let why = why.map(|why| format!(" The reason: {}.", safe::cut(why, 200))).unwrap_or_default();
    let state = match partition.state {
        State::Preparing => format!(
            "does not wait for IPUs, but for nodes. Its partition has been in the making for {ago}.{ready}"
        ),
        State::Prepared => {
            format!("does not wait for IPUs, but for nodes. Its partition has been ready for {ago}.")
        }
        State::Creating => format!("has its nodes. Its partition has been in the making for {ago}.{ready}"),
        State::Ready => {
            format!("has its nodes, and its partition has been ready for {ago}: it is about to start.")
        }
        State::Running if partition.unlimited => {
            format!("does not wait: it has run for {ago}. It has no time limit, so its end is unknown.")
        }
        State::Running => format!("does not wait: it has run for {ago}{}.", until("and may run until")),
        State::Failed => {
            format!("cannot have its IPUs: its partition cannot be made, and it is sent back or ended.{why}")
        }
        State::Kept => format!("has failed. Its partition is kept{}.{why}", until("until")),
        State::Ending => format!(
            "has ended {ago} ago. Its partition is removed when the job's nodes have finished their work for it."
        ),
        State::Resetting => format!("has ended. Its partition has been in reset for {ago}."),
        State::Idle => format!("has ended {ago} ago. Its partition is idle."),
        State::Removing => format!("has ended. Its partition has been in removal for {ago}."),
    };
    Answer {
        job: names::job(partition.job.as_deref()),
        summary: format!("{owner} {state} {what}."),
        causes: Vec::new(),
        advice: if partition.state == State::Kept { kept(partition) } else { Vec::new() },
    }
}

/// What its user can do with a kept partition.
fn kept(partition: &Partition) -> Vec<Sentence> {
    let (Some(id), Some(job)) = (&partition.id, &partition.job) else { return Vec::new() };
    let (id, job) = (safe::cut(id, 40), names::job(Some(job)));
    let text = format!(
        "Its user can look into the failure (svipu env {job}), and remove the partition early (svipu partition free {id})."
    );
    vec![Sentence::new("kept", text)]
}
