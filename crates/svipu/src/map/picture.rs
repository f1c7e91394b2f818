//! The map of a Pod as a picture.

use std::collections::BTreeMap;

use vipu_status::{Model, Place, Pod};

use super::{Drawn, filled, grid, legend, marked};
use crate::drains;
use crate::names;
use crate::page::{COLUMNS, Cell, Tone};
use crate::svg::{Area, CHARACTER, Entry, LINE, SIDE, Svg};
use crate::uses::Use;
use crate::view::View;

/// The distance from one IPU to the next.
const STEP: usize = SIDE + 2;

/// Adds the map of a Pod.
pub(super) fn add(svg: &mut Svg, view: &View<'_>, model: &Model, pod: &Pod) {
    let top = svg.height + LINE / 2;
    let title =
        format!("{} on {}: {} of {} IPUs free", model.name, pod.controller, pod.ipus.free, pod.ipus.total);
    svg.text(0, top, Tone::Bold, &title);
    let drawn = marked(view, model, pod);
    let Some(grid) = filled(view, model, pod, &drawn) else { return };
    let held = drawn.iter().flat_map(|drawn| drawn.partition.places.iter().map(move |place| (*place, drawn)));
    let holders = held.collect();
    let left = (grid.label_width(COLUMNS) + 1) * CHARACTER;
    let mut y = top + LINE + 4;
    for row in grid.rows(COLUMNS - grid.label_width(COLUMNS)) {
        svg.text(0, y, Tone::Dim, &grid::name(&row));
        let mut x = left;
        for (domain, cells) in &row {
            for (index, cell) in (0..).zip(*cells).filter(|(_, (mark, _))| *mark != ' ') {
                if x > left && x + SIDE > left + 64 * STEP + row.len() * STEP {
                    (x, y) = (left, y + STEP);
                }
                ipu(svg, view, &holders, (x, y), (Place { domain: *domain, index }, *cell));
                x += STEP;
            }
            x += STEP / 2;
        }
        y += STEP;
    }
    svg.legend(&entries(view, (model, pod), &drawn));
}

fn ipu(
    svg: &mut Svg,
    view: &View<'_>,
    holders: &BTreeMap<Place, &Drawn<'_>>,
    (x, y): (usize, usize),
    (place, (mark, tone)): (Place, Cell),
) {
    let words = match holders.get(&place) {
        Some(drawn) if drawn.chosen => legend::entry(view, drawn),
        _ => mark.to_string(),
    };
    let text = if mark == Use::Free.name().1 { String::new() } else { mark.to_string() };
    let title = format!("{} {words}", names::places(&[place]));
    svg.area(Area { x, y, width: SIDE, height: SIDE }, tone, &text, &title);
}

/// The uses of IPUs, then the drains, and then the partitions.
fn entries(view: &View<'_>, (model, pod): (&Model, &Pod), drawn: &[Drawn<'_>]) -> Vec<Entry> {
    let uses = Use::ALL.into_iter().filter(|kind| kind.count(&pod.ipus) > 0).map(|kind| {
        let (name, mark) = kind.name();
        let mark = if [Use::Used, Use::Free].contains(&kind) { String::new() } else { mark.to_string() };
        Entry { tone: kind.tone(), mark, words: format!("{name} {}", kind.count(&pod.ipus)) }
    });
    let of_jobs = drawn.iter().filter(|drawn| drawn.chosen).map(|drawn| {
        // The entry begins with its mark.
        let words = legend::entry(view, drawn).chars().skip(2).collect();
        Entry { tone: drawn.tone, mark: drawn.mark.to_string(), words }
    });
    let drains = drains::words(view, model, pod).into_iter().map(|words| {
        let (_, mark) = Use::Drained.name();
        Entry { tone: Use::Drained.tone(), mark: mark.to_string(), words: crate::safe::cut(&words, 40) }
    });
    uses.chain(drains).chain(of_jobs).collect()
}
