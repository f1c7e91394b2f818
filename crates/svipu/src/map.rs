//! `svipu map`: each IPU of each Pod.

mod grid;
pub(crate) mod legend;
mod picture;

use vipu_status::{Contact, Model, Partition, Pod};

use crate::document;
use crate::drains;
use crate::error::Failure;
use crate::page::{COLUMNS, Page, Tone};
use crate::status::NO_MODEL;
use crate::svg::Svg;
use crate::uses::Use;
use crate::view::{Part, View};
pub(crate) use grid::Grid;

/// The lines of a terminal. Without `--all`, grid and legend of a Pod take no more.
pub(crate) const LINES: usize = 24;

/// The line of a Pod that is not drawn.
pub(crate) const TOO_LARGE: &str =
    "  The Pod has more IPUs than a map can show: svipu partitions lists them.";

/// The letters for partitions that are in use. A Pod with more partitions uses each letter several times.
/// Digits are for planned jobs.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The mark for partitions of users that the options leave out.
pub(crate) const NOT_CHOSEN: char = ':';

/// A partition with its mark.
pub(crate) struct Drawn<'a> {
    pub(crate) partition: &'a Partition,
    pub(crate) mark: char,
    pub(crate) tone: Tone,
    /// Whether the options choose its owner.
    pub(crate) chosen: bool,
}

/// The picture of the command.
pub(crate) fn picture(view: &View<'_>) -> String {
    let mut svg = Svg::new();
    for model in &view.chosen.models {
        model.pods.iter().for_each(|pod| picture::add(&mut svg, view, model, pod));
    }
    svg.finish("svipu map", &document::age(view.all, view.surroundings.now))
}

/// The page of the command. With `all`, the legends are whole.
pub(crate) fn show(view: &View<'_>, all: bool) -> Result<String, Failure> {
    if view.common.json {
        let partitions = Some(view.chosen.partitions.iter().collect());
        return view.json(Part { models: Some(&view.chosen.models), partitions, ..Part::default() });
    }
    let mut page = view.page();
    if view.chosen.models.is_empty() {
        page.line(NO_MODEL);
    }
    for model in &view.chosen.models {
        for pod in &model.pods {
            draw(&mut page, view, model, pod, all);
        }
    }
    Ok(page.finish())
}

fn draw(page: &mut Page, view: &View<'_>, model: &Model, pod: &Pod, all: bool) {
    let free = format!(": {} of {} IPUs free", pod.ipus.free, pod.ipus.total);
    let name = format!("{} on {}", crate::safe::cut(&model.name, 20), crate::safe::cut(&pod.controller, 30));
    page.toned(&[(Tone::Bold, &name), (Tone::Plain, &free)]);
    let answers = matches!(pod.contact, Contact::Reached { .. });
    if !answers {
        page.toned(&[(
            Tone::Red,
            "  The controller does not answer: the map shows its last answer, if any.",
        )]);
    }
    let drawn = marked(view, model, pod);
    let Some(grid) = filled(view, model, pod, &drawn) else {
        page.line(TOO_LARGE);
        return;
    };
    let lines = grid.add(page, COLUMNS);
    // The age and the heading take two lines, and the prompt takes the last one.
    let room = LINES.saturating_sub(lines + 3 + usize::from(!answers));
    legend::add(page, view, (model, pod), &drawn, (!all).then_some(room));
}

/// The grid of a Pod with its partitions. None if the Pod is too large.
pub(crate) fn filled(view: &View<'_>, model: &Model, pod: &Pod, drawn: &[Drawn<'_>]) -> Option<Grid> {
    let mut grid = Grid::new(model, pod, drawn.iter().flat_map(|drawn| &drawn.partition.places))?;
    let drained = drains::of_pod(view, model, pod).map(|drain| drain.places(model, pod));
    grid.put_unusable(drained, pod.others.iter());
    for Drawn { partition, mark, tone, .. } in drawn {
        grid.put(&partition.places, *mark, *tone);
    }
    Some(grid)
}

/// The partitions of a Pod with their marks, in the order of their places.
pub(crate) fn marked<'a>(view: &View<'a>, model: &Model, pod: &Pod) -> Vec<Drawn<'a>> {
    let here = |entry: &&Partition| entry.model == model.name && entry.controller == pod.controller;
    let mut partitions: Vec<_> = view.all.partitions.iter().filter(here).collect();
    partitions.sort_by_key(|partition| (partition.places.iter().min().copied(), partition.key));
    let mut letters = LETTERS.iter().cycle();
    let mut mark = |partition: &'a Partition| {
        let kind = Use::of(partition.state);
        let chosen = kind == Use::Idle || view.selection.has_owner(partition.job.as_deref());
        let mark = match (chosen, kind) {
            (false, _) => NOT_CHOSEN,
            (true, Use::Used) => letters.next().map_or('U', |letter| char::from(*letter)),
            (true, _) => kind.name().1,
        };
        Drawn { partition, mark, tone: kind.tone(), chosen }
    };
    partitions.into_iter().map(&mut mark).collect()
}
