//! The drains of a Pod.

use std::collections::BTreeMap;

use vipu_status::{Drain, Model, Place, Pod};

use crate::uses::Use;
use crate::view::View;
use crate::{names, safe};

/// The drains of a Pod, the first decision first.
pub(crate) fn of_pod<'a>(view: &View<'a>, model: &Model, pod: &Pod) -> impl Iterator<Item = &'a Drain> {
    view.all.drains.iter().filter(|drain| drain.covers(model, pod))
}

/// The drains of a Pod in words, those with one reason together.
pub(crate) fn words(view: &View<'_>, model: &Model, pod: &Pod) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Option<Vec<Place>>> = BTreeMap::new();
    for drain in of_pod(view, model, pod) {
        let places = by_reason.entry(&drain.reason).or_insert_with(|| Some(Vec::new()));
        match drain.place {
            Some(place) => places.iter_mut().for_each(|places| places.push(place)),
            None => *places = None,
        }
    }
    let words = |(reason, places): (&str, Option<Vec<Place>>)| {
        let places = places.map_or_else(|| "all IPUs".to_owned(), |places| names::places(&places));
        format!("{} {}: {}", Use::Drained.name().0, safe::cut(&places, 20), safe::cut(reason, 40))
    };
    by_reason.into_iter().map(words).collect()
}

/// A sentence about each drain of a model.
pub(crate) fn sentences<'a>(view: &'a View<'_>, model: &'a Model) -> impl Iterator<Item = String> {
    let drains = view.all.drains.iter().filter(|drain| drain.model == model.name);
    drains.map(|drain| sentence(view, drain))
}

fn sentence(view: &View<'_>, drain: &Drain) -> String {
    let Drain { model, controller, place, reason, by, since, until } = drain;
    let controller = controller.as_ref().map(|name| format!("controller {}", safe::cut(name, 60)));
    let what = match (controller, place) {
        (Some(controller), Some(place)) => format!("IPU {} of {controller}", names::places(&[*place])),
        (None, Some(place)) => format!("IPU {} of {}", names::places(&[*place]), safe::cut(model, 30)),
        (Some(controller), None) => format!("any IPU of {controller}"),
        (None, None) => format!("any IPU of {}", safe::cut(model, 30)),
    };
    let until = until.map(|at| format!(" until {}", view.time(at))).unwrap_or_default();
    format!(
        "No new job starts on {what}{until}: {} drained it at {} ({}).",
        safe::cut(by, 30),
        view.time(*since),
        safe::cut(reason, 200)
    )
}
