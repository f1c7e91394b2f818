//! The drains of a Pod.

use std::collections::BTreeMap;

use vipu_status::{Drain, Model, Place, Pod};

use crate::uses::Use;
use crate::view::View;
use crate::{names, safe};

/// The greatest width of the reasons in the words about a drain.
const REASON: usize = 40;

/// The drains of a Pod, the first decision first.
pub(crate) fn of_pod<'a>(view: &View<'a>, model: &Model, pod: &Pod) -> impl Iterator<Item = &'a Drain> {
    view.all.drains.iter().filter(|drain| drain.covers(model, pod))
}

/// The drains of a Pod in words, those of all its IPUs together, and others with one reason together.
pub(crate) fn words(view: &View<'_>, model: &Model, pod: &Pod) -> Vec<String> {
    let (mut of_all, mut by_reason) = (Vec::new(), BTreeMap::<&str, Vec<Place>>::new());
    for drain in of_pod(view, model, pod) {
        match drain.place {
            Some(place) => by_reason.entry(&drain.reason).or_default().push(place),
            None => of_all.push(&*drain.reason),
        }
    }
    of_all.dedup();
    by_reason.retain(|reason, _| !of_all.contains(reason));
    let width = REASON / of_all.len().max(1);
    let reasons: Vec<_> = of_all.iter().map(|reason| safe::cut(reason, width)).collect();
    let of_all = Some(("all IPUs".to_owned(), reasons.join("; "))).filter(|_| !of_all.is_empty());
    let of_places = by_reason
        .into_iter()
        .map(|(reason, places)| (safe::cut(&names::places(&places), 20), safe::cut(reason, REASON)));
    let words = |(ipus, reason)| format!("{} {ipus}: {reason}", Use::Drained.name().0);
    of_all.into_iter().chain(of_places).map(words).collect()
}

/// A sentence about the drains of a model, those of single IPUs with one reason together.
pub(crate) fn sentences(view: &View<'_>, model: &Model) -> Vec<String> {
    let mut groups: Vec<(&Drain, Vec<Place>)> = Vec::new();
    for drain in view.all.drains.iter().filter(|drain| drain.model == model.name) {
        let with = |(first, _): &&mut (&Drain, Vec<Place>)| {
            let decision =
                |it: &'_ Drain| (it.controller.clone(), it.reason.clone(), it.by.clone(), it.until);
            drain.place.is_some() && first.place.is_some() && decision(first) == decision(drain)
        };
        match groups.iter_mut().find(with) {
            Some((_, places)) => places.extend(drain.place),
            None => groups.push((drain, drain.place.into_iter().collect())),
        }
    }
    groups.iter().map(|(first, places)| sentence(view, first, places)).collect()
}

fn sentence(view: &View<'_>, first: &Drain, places: &[Place]) -> String {
    let Drain { model, controller, reason, by, since, until, .. } = first;
    let whole = match controller {
        Some(controller) => format!("controller {}", safe::cut(controller, 60)),
        None => safe::cut(model, 30),
    };
    let (ipus, them) = match places {
        [] => ("any IPU".to_owned(), "it"),
        [place] => (format!("IPU {}", names::places(&[*place])), "it"),
        places => (format!("IPUs {}", safe::cut(&names::places(places), 60)), "them"),
    };
    let until = until.map(|at| format!(" until {}", view.time(at))).unwrap_or_default();
    format!(
        "No new job starts on {ipus} of {whole}{until}: {} drained {them} at {} ({}).",
        safe::cut(by, 30),
        view.time(*since),
        safe::cut(reason, 200)
    )
}
