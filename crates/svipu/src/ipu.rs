//! `svipu ipu`: who has an IPU, now and next.

use serde::Serialize;
use vipu_status::{Drain, Model, OtherUse, Partition, Place, Pod, WaitingJob};

use crate::arguments::options::Wanted;
use crate::error::Failure;
use crate::ipu_use::Use;
use crate::map::Grid;
use crate::page::{Page, Tone};
use crate::table::list;
use crate::view::View;
use crate::{drains, job_queue, names, partition, safe};

/// What is known about the IPU at a place of one Pod.
#[derive(Serialize)]
struct Answer<'a> {
    model: &'a str,
    controller: &'a str,
    place: Place,
    /// The use, in the word of the map.
    r#use: &'static str,
    /// The partition of a job that has it.
    partition: Option<&'a Partition>,
    /// The partition that is not of this cluster's jobs.
    foreign: Option<&'a str>,
    /// The jobs that are planned there, the first in line first.
    planned: Vec<&'a WaitingJob>,
    drains: Vec<&'a Drain>,
}

/// The page of the command.
pub(crate) fn show(view: &View<'_>, wanted: &Wanted) -> Result<String, Failure> {
    let pods = || view.chosen.models.iter().flat_map(|model| model.pods.iter().map(move |pod| (model, pod)));
    let is_meant = |pod: &Pod| wanted.controller.as_ref().is_none_or(|name| *name == pod.controller);
    let meant: Vec<_> = pods().filter(|(_, pod)| is_meant(pod)).collect();
    if let (Some(controller), []) = (&wanted.controller, &*meant) {
        let known: Vec<_> = pods().map(|(_, pod)| pod.controller.clone()).collect();
        return Err(Failure::unknown("controller", controller, &known));
    }
    let places = meant.into_iter();
    let answers: Vec<_> = places.filter_map(|(model, pod)| answer(view, model, pod, wanted.place)).collect();
    if answers.is_empty() {
        let known: Vec<_> = pods().filter_map(|(model, pod)| range(view, model, pod)).collect();
        return Err(Failure::unknown("IPU", &wanted.to_string(), &known));
    }
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&answers)? + "\n");
    }
    let mut page = view.page();
    for (number, answer) in answers.iter().enumerate() {
        if number > 0 {
            page.line("");
        }
        tell(&mut page, view, answer)?;
    }
    Ok(page.finish())
}

fn grid(view: &View<'_>, model: &Model, pod: &Pod) -> Option<Grid> {
    let here = |entry: &&Partition| entry.model == model.name && entry.controller == pod.controller;
    Grid::new(model, pod, view.all.partitions.iter().filter(here).flat_map(|entry| &entry.places))
}

/// The first and last place of a Pod.
fn range(view: &View<'_>, model: &Model, pod: &Pod) -> Option<String> {
    let grid = grid(view, model, pod)?;
    let (first, last) = (grid.cells().next()?.0, grid.cells().last()?.0);
    let name = |place| names::places(&[place]);
    Some(format!("{} to {} on {}", name(first), name(last), pod.controller))
}

/// None if the Pod has no such place.
fn answer<'a>(view: &'a View<'_>, model: &'a Model, pod: &'a Pod, place: Place) -> Option<Answer<'a>> {
    grid(view, model, pod)?.cells().find(|(known, _)| *known == place)?;
    let here = |name: &str, controller: &str| name == model.name && controller == pod.controller;
    let mut partitions = view.all.partitions.iter();
    let partition =
        partitions.find(|entry| here(&entry.model, &entry.controller) && entry.places.contains(&place));
    let other = pod.others.iter().find(|other| other.places.contains(&place));
    let drains = drains::of_pod(view, model, pod);
    let drains: Vec<_> = drains
        .filter(|drain| drain.places(model, pod).is_none_or(|places| places.contains(&place)))
        .collect();
    let kind = match (partition, other) {
        (Some(partition), _) => Use::of(partition.state),
        (None, Some(other)) => Use::of_other(other.because),
        (None, None) if drains.is_empty() => Use::Free,
        (None, None) => Use::Drained,
    };
    let is_planned = |row: &&WaitingJob| {
        here(&row.model, row.planned_controller.as_deref().unwrap_or_default())
            && row.planned_places.contains(&place)
    };
    Some(Answer {
        model: &model.name,
        controller: &pod.controller,
        place,
        r#use: kind.name().0,
        partition,
        foreign: other
            .filter(|other| matches!(other.because, OtherUse::Foreign | OtherUse::OutOfUse))
            .and_then(|other| other.partition.as_deref()),
        planned: view.all.line.iter().filter(is_planned).collect(),
        drains,
    })
}

fn tell(page: &mut Page, view: &View<'_>, answer: &Answer<'_>) -> Result<(), Failure> {
    let place = names::places(&[answer.place]);
    let title =
        format!("IPU {place} of {} on {}", safe::cut(answer.model, 30), safe::cut(answer.controller, 40));
    page.toned(&[(Tone::Bold, &title)]);
    let detail = match (answer.foreign, answer.r#use == Use::Faulty.name().0) {
        (Some(id), _) => format!(": partition {id}"),
        // Controllers give only the number of faulty IPUs.
        (None, true) => " (assumed)".to_owned(),
        (None, false) => String::new(),
    };
    let mut members = vec![("use", format!("{}{detail}", answer.r#use))];
    for drain in &answer.drains {
        let until = drain.until.map(|at| format!(" until {}", view.time(at))).unwrap_or_default();
        let words = format!("since {}{until} by {}: {}", view.time(drain.since), drain.by, drain.reason);
        members.push(("drained", words));
    }
    page.fields(&members);
    if let Some(entry) = answer.partition {
        partition::add(page, view, entry);
    }
    list(page, view, "planned there", job_queue::COLUMNS, &answer.planned, "queue")
}
