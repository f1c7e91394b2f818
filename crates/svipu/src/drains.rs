//! The drains of a Pod.

use std::collections::BTreeMap;

use vipu_status::{Drain, Model, Pod};

use crate::ipu_use::Use;
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
    let (mut of_all, mut by_reason) = (Vec::new(), BTreeMap::<&str, Vec<&Drain>>::new());
    for drain in of_pod(view, model, pod) {
        match drain.is_whole() {
            true => of_all.push(&*drain.reason),
            false => by_reason.entry(&drain.reason).or_default().push(drain),
        }
    }
    of_all.dedup();
    by_reason.retain(|reason, _| !of_all.contains(reason));
    let width = REASON / of_all.len().max(1);
    let reasons: Vec<_> = of_all.iter().map(|reason| safe::cut(reason, width)).collect();
    let of_all = Some(("all IPUs".to_owned(), reasons.join("; "))).filter(|_| !of_all.is_empty());
    let of_parts = by_reason
        .into_iter()
        .map(|(reason, drains)| (safe::cut(&parts(&drains), 36), safe::cut(reason, REASON)));
    let words = |(ipus, reason)| format!("{} {ipus}: {reason}", Use::Drained.name().0);
    of_all.into_iter().chain(of_parts).map(words).collect()
}

/// The IPUs and partitions of drains, as `0:3-5,p16_1`.
fn parts(drains: &[&Drain]) -> String {
    let places: Vec<_> = drains.iter().filter_map(|drain| drain.place).collect();
    let places = (!places.is_empty()).then(|| names::places(&places));
    let partitions = drains.iter().filter_map(|drain| drain.partition.clone());
    places.into_iter().chain(partitions).collect::<Vec<_>>().join(",")
}

/// A sentence about the drains of a model, those of single IPUs with one reason together.
pub(crate) fn sentences(view: &View<'_>, model: &Model) -> Vec<String> {
    let mut groups: Vec<Vec<&Drain>> = Vec::new();
    for drain in view.all.drains.iter() {
        if !model.pods.iter().any(|pod| drain.covers(model, pod)) {
            continue;
        }
        let with = |group: &&mut Vec<&Drain>| {
            let decision = |it: &'_ Drain| {
                let what = (it.is_whole(), it.partition.is_some());
                (what, it.controller.clone(), it.reason.clone(), it.by.clone(), it.until)
            };
            !drain.is_whole() && group.first().is_some_and(|first| decision(first) == decision(drain))
        };
        match groups.iter_mut().find(with) {
            Some(group) => group.push(drain),
            None => groups.push(vec![drain]),
        }
    }
    groups.iter().filter_map(|group| sentence(view, group)).collect()
}

/// A sentence about drains that are one decision.
fn sentence(view: &View<'_>, drains: &[&Drain]) -> Option<String> {
    let first = drains.first()?;
    let Drain { model, controller, reason, by, since, until, .. } = first;
    let whole = match controller {
        Some(controller) => format!("controller {}", safe::cut(controller, 60)),
        None => safe::cut(model, 30),
    };
    let (one, several) =
        if first.partition.is_some() { ("partition", "partitions") } else { ("IPU", "IPUs") };
    let (ipus, them) = match drains {
        [whole] if whole.is_whole() => ("any IPU".to_owned(), "it"),
        [_] => (format!("{one} {}", parts(drains)), "it"),
        _ => (format!("{several} {}", safe::cut(&parts(drains), 60)), "them"),
    };
    let until = until.map(|at| format!(" until {}", view.time(at))).unwrap_or_default();
    Some(format!(
        "No new job starts on {ipus} of {whole}{until}: {} drained {them} at {} ({}).",
        safe::cut(by, 30),
        view.time(*since),
        safe::cut(reason, 200)
    ))
}
