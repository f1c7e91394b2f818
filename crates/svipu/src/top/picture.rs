//! What the screen shows of a document, whatever its size.

use std::time::Duration;

use vipu_status::{Contact, Model, Pod, Status};

use super::lists::{self, Table};
use crate::find_document;
use crate::ipu_use::Use;
use crate::map::{self, Grid, NOT_CHOSEN};
use crate::page::{Line, Tone};
use crate::times::span;
use crate::view::View;

/// What the screen shows of a Pod.
#[derive(Default)]
pub(super) struct Picture {
    pub(super) notes: Vec<Note>,
    /// The map. None if the Pod is too large.
    pub(super) grid: Option<Grid>,
    /// The numbers of IPUs by use: marks and words.
    pub(super) numbers: Vec<Line>,
    pub(super) history: Option<History>,
    /// The partitions and the waiting jobs.
    pub(super) lists: [Table; 2],
}

impl Picture {
    /// The picture of a Pod.
    pub(super) fn new(view: &View<'_>, status: &Status, (model, pod): (&Model, &Pod)) -> Self {
        let drawn = map::marked(view, model, pod);
        let mut notes = pod_notes(model, pod, view.surroundings.now);
        notes.extend(view.hidden().map(|hidden| (Tone::Yellow, hidden)));
        Self {
            notes,
            grid: map::filled(view, model, pod, &drawn),
            numbers: numbers(pod, view.selection.user().is_some()),
            history: History::new(model),
            lists: [lists::partitions(view, drawn), lists::waiting(view, status, model)],
        }
    }
}

/// The numbers by use. Used and free IPUs are always told, and first, because a small screen cuts the others.
fn numbers(pod: &Pod, of_one_user: bool) -> Vec<Line> {
    let always = [Use::Used, Use::Free];
    let told = |kind: &Use| !always.contains(kind) && kind.count(&pod.ipus) > 0;
    let told = always.into_iter().chain(Use::ALL.into_iter().filter(told));
    let number = |kind: Use| {
        let (name, mark) = kind.name();
        let of_job = |(mark, colour): (char, _)| (Tone::Job { colour, own: false }, mark.to_string());
        let mut number = match kind {
            Use::Used => ('A'..='C').zip(0..).map(of_job).collect(),
            _ => vec![(kind.tone(), mark.to_string())],
        };
        number.push((Tone::Plain, format!(" {name} {}", kind.count(&pod.ipus))));
        number
    };
    let others = [(Use::Used.tone(), NOT_CHOSEN.to_string()), (Tone::Plain, " of other users".to_owned())];
    let others = of_one_user.then(|| others.into());
    told.map(number).chain(others).collect()
}

/// A line above the map.
pub(super) type Note = (Tone, String);

/// The lines about the document. `failure` says why the newest document cannot be read. `now` is None if the
/// screen is held still, so that the age tells nothing about slurmctld.
pub(super) fn document_notes(status: &Status, failure: Option<&str>, now: Option<i64>) -> Vec<Note> {
    let failed = failure.map(|why| format!("no new document: {why}"));
    let old = now.and_then(|now| find_document::warning(status, now));
    let order = status.out_of_order.as_ref();
    let order =
        order.map(|why| format!("OUT OF ORDER: no job with IPUs starts until slurmctld is restarted: {why}"));
    [failed, old, order].into_iter().flatten().map(|text| (Tone::Alarm, text)).collect()
}

/// The reason why there is no newer document while its read has not ended for so long.
pub(super) fn hanging_read(time: Duration) -> String {
    let time = span(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    format!("its read has not ended for {time}: its server or network may hang")
}

/// The lines about a Pod and its model.
fn pod_notes(model: &Model, pod: &Pod, now: i64) -> Vec<Note> {
    let contact = match &pod.contact {
        Contact::Reached { .. } => None,
        Contact::NotYet => Some((Tone::Yellow, "the controller has not answered yet".to_owned())),
        Contact::Lost { since, reason } => {
            let ago = span(now.saturating_sub(*since));
            Some((Tone::Red, format!("the controller was lost {ago} ago: {reason}")))
        }
    };
    let red = |text: String| (Tone::Red, text);
    let trouble = model.trouble.as_ref().map(|why| red(format!("no job can start on {}: {why}", model.name)));
    let of_pod = pod.trouble.as_ref().filter(|_| contact.is_none());
    let of_pod = of_pod.map(|why| red(format!("no partition can be made: {why}")));
    let conf = model.conf.error.as_ref().map(|why| red(format!("error in the configuration file: {why}")));
    contact.into_iter().chain(trouble).chain(of_pod).chain(conf).collect()
}

/// The minutes that are shown.
pub(super) const MINUTES: usize = 60;

/// A value for each of the last minutes, the oldest first. None if the document has none for the minute.
pub(super) type Series = [Option<u64>; MINUTES];

/// The use over the last hour.
pub(super) struct History {
    pub(super) used: Series,
    /// The greatest value that `used` can have.
    pub(super) total: u64,
    pub(super) waiting: Series,
}

impl History {
    /// The history of a model. None if the document has none.
    pub(super) fn new(model: &Model) -> Option<Self> {
        let newest = model.last_hour.last()?.at;
        let mut history = Self { used: [None; MINUTES], total: 0, waiting: [None; MINUTES] };
        for minute in &model.last_hour {
            // The writer need not be punctual: half a minute is rounded.
            let ago = newest.saturating_sub(minute.at).saturating_add(30) / 60;
            let place = usize::try_from(ago).ok().and_then(|ago| (MINUTES - 1).checked_sub(ago));
            if let Some(place) = place {
                history.used[place] = Some(minute.used.into());
                history.waiting[place] = Some(minute.waiting.into());
            }
        }
        history.total = model.pods.iter().map(|pod| u64::from(pod.ipus.total)).sum();
        Some(history)
    }
}
