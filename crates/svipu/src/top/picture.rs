//! What the screen shows of a document, whatever its size.

use vipu_status::{Model, Pod, Status};

use super::history::History;
use super::lists;
use super::notes::{self, Note};
use super::table::Table;
use crate::map::{self, Grid, NOT_CHOSEN};
use crate::page::Tone;
use crate::uses::Use;
use crate::view::View;

/// A number of IPUs: the colour, its mark and words.
pub(super) type Number = (Tone, String, String);

/// What the screen shows of a Pod.
#[derive(Default)]
pub(super) struct Picture {
    pub(super) notes: Vec<Note>,
    /// The map. None if the Pod is too large.
    pub(super) grid: Option<Grid>,
    pub(super) numbers: Vec<Number>,
    pub(super) history: Option<History>,
    /// The partitions and the waiting jobs.
    pub(super) lists: [Table; 2],
}

impl Picture {
    /// The picture of a Pod.
    pub(super) fn new(view: &View<'_>, status: &Status, (model, pod): (&Model, &Pod)) -> Self {
        let drawn = map::marked(view, model, pod);
        let mut notes = notes::of_pod(model, pod, view.surroundings.now);
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
fn numbers(pod: &Pod, of_one_user: bool) -> Vec<Number> {
    let always = [Use::Used, Use::Free];
    let told = |kind: &Use| !always.contains(kind) && kind.count(&pod.ipus) > 0;
    let told = always.into_iter().chain(Use::ALL.into_iter().filter(told));
    let number = |kind: Use| {
        let (name, mark) = kind.name();
        let mark = match kind {
            Use::Used => "ABC".to_owned(),
            _ => mark.to_string(),
        };
        (kind.tone(), mark, format!("{name} {}", kind.count(&pod.ipus)))
    };
    let others = of_one_user.then(|| (Tone::Plain, NOT_CHOSEN.to_string(), "of other users".to_owned()));
    told.map(number).chain(others).collect()
}
