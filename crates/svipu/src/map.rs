//! `svipu map`: each IPU of each Pod.

mod grid;

pub(crate) use grid::Grid;

use std::collections::BTreeMap;

use vipu_status::{Contact, Model, Partition, Place, Pod, State};

use crate::error::Failure;
use crate::ipu_use::Use;
use crate::page::{COLUMNS, Cell, Line, PALETTE, Page, Tone};
use crate::svg::{Area, CHARACTER, Entry, LINE, SIDE, Svg};
use crate::view::NO_MODEL;
use crate::view::{Part, View};
use crate::{drains, find_document, names, safe};

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
        model.pods.iter().for_each(|pod| add_picture(&mut svg, view, model, pod));
    }
    svg.finish("svipu map", Some(&find_document::age(view.all, view.surroundings.now)))
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
    legend(page, view, (model, pod), &drawn, (!all).then_some(room));
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
    let mut letters = LETTERS.iter().cycle().zip((0..PALETTE.len()).cycle());
    let mut mark = |partition: &'a Partition| {
        let kind = Use::of(partition.state);
        let job = partition.job.as_deref();
        let chosen = kind == Use::Idle || view.selection.has_owner(job);
        let has_letter = chosen && kind == Use::Used;
        let (mark, tone) = match has_letter.then(|| letters.next()).flatten() {
            _ if !chosen => (NOT_CHOSEN, kind.tone()),
            None => (kind.name().1, kind.tone()),
            Some((letter, colour)) => {
                let own = job.is_some_and(|job| job.user == view.surroundings.user);
                let of_job = Tone::Job { colour, own };
                let in_the_making = partition.state == State::Creating;
                (char::from(*letter), if in_the_making { Use::Prepared.tone() } else { of_job })
            }
        };
        Drawn { partition, mark, tone, chosen }
    };
    partitions.into_iter().map(&mut mark).collect()
}

/// Entries that stand beside each other, and the width of one.
const BESIDE: usize = 2;
const WIDTH: usize = 39;

/// The lines about drains.
const MOST_DRAINS: usize = 3;

/// Adds the legend, with `room` lines at most if that is given.
fn legend(
    page: &mut Page,
    view: &View<'_>,
    (model, pod): (&Model, &Pod),
    drawn: &[Drawn<'_>],
    room: Option<usize>,
) {
    let mut lines = page.packed(key(pod, drawn), "", COLUMNS);
    for drain in shortened(drains::words(view, model, pod), room.is_none()) {
        page.line(&drain);
        lines += 1;
    }
    let room = room.map(|room| room.saturating_sub(lines));
    let shown: Vec<_> = drawn.iter().filter(|drawn| drawn.chosen).collect();
    let Some(room) = room else {
        shown.iter().for_each(|drawn| {
            page.toned(&whole(view, drawn).each_ref().map(|(tone, text)| (*tone, &**text)))
        });
        foreign(page, pod);
        return;
    };
    let entries: Vec<_> = shown.iter().map(|drawn| (drawn.tone, entry(view, drawn))).collect();
    fitting(page, &entries, room, "more partitions: svipu map --all");
}

/// Adds entries beside each other, in `room` lines at most. The last line then tells how many are left out. An entry
/// begins with its mark, which has the tone.
pub(crate) fn fitting(page: &mut Page, entries: &[(Tone, String)], room: usize, left_out: &str) {
    let lines = beside(entries);
    let shown = if lines.len() > room { room.saturating_sub(1) } else { lines.len() };
    lines[..shown].iter().for_each(|line| page.whole(line));
    let left = entries.len().saturating_sub(shown * BESIDE);
    if left > 0 {
        page.line(&format!("and {left} {left_out}"));
    }
}

/// The marks that occur.
fn key(pod: &Pod, drawn: &[Drawn<'_>]) -> impl Iterator<Item = Line> {
    let mut words = vec![format!("{} free", Use::Free.name().1)];
    let others = |kind: Use| pod.others.iter().any(|other| Use::of_other(other.because) == kind);
    for kind in Use::ALL {
        let of_jobs = drawn.iter().any(|drawn| drawn.chosen && Use::of(drawn.partition.state) == kind);
        let (name, mark) = kind.name();
        match kind {
            Use::Free => {}
            Use::Used if of_jobs => words.push("A-Z a-z used".to_owned()),
            // Controllers give only the number of faulty IPUs.
            Use::Faulty if others(kind) => words.push(format!("{mark} {name}~")),
            _ if of_jobs || others(kind) => words.push(format!("{mark} {name}")),
            _ => {}
        }
    }
    if drawn.iter().any(|drawn| !drawn.chosen) {
        words.push(format!("{NOT_CHOSEN} of other users"));
    }
    if drawn.iter().any(|drawn| drawn.partition.places_are_assumed) || others(Use::Faulty) {
        words.push("~ assumed places".to_owned());
    }
    words.into_iter().map(|words| vec![(Tone::Plain, words)])
}

/// The lines about drains, or the first ones with the number of the others.
fn shortened(drains: Vec<String>, all: bool) -> impl Iterator<Item = String> {
    let left = if all { 0 } else { drains.len().saturating_sub(MOST_DRAINS) };
    let shown = if left > 0 { MOST_DRAINS - 1 } else { drains.len() };
    let more = drains.len() - shown;
    let more = (more > 0).then(|| format!("and {more} more reasons of drains: svipu map --all"));
    let (_, mark) = Use::Drained.name();
    drains.into_iter().take(shown).map(move |words| format!("{mark} {words}")).chain(more)
}

/// Entries of a legend beside each other, in lines that fit a terminal.
fn beside(entries: &[(Tone, String)]) -> Vec<Line> {
    let pieces = |(place, (tone, text)): (usize, &(Tone, String))| {
        let text = safe::cut(text, WIDTH);
        let last = place + 1 == BESIDE;
        let gap = if last { 0 } else { WIDTH + 2 - safe::width(&text) };
        let (mark, words) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
        [(*tone, mark.to_owned()), (Tone::Plain, format!("{words}{:gap$}", ""))]
    };
    entries.chunks(BESIDE).map(|row| row.iter().enumerate().flat_map(pieces).collect()).collect()
}

/// An entry: mark, job, user, state.
fn entry(view: &View<'_>, drawn: &Drawn<'_>) -> String {
    let partition = drawn.partition;
    let owner = match partition.state {
        State::Idle => safe::cut(&names::or_dash(partition.id.as_deref()), 27),
        _ => {
            let (job, user) = (names::job(partition.job.as_deref()), view.user(partition.job.as_deref()));
            format!("{} {}", safe::cut(&job, 14), safe::cut(&user, 12))
        }
    };
    let guess = if partition.places_are_assumed { "~" } else { "" };
    let place = if partition.places.is_empty() { " (no place)" } else { "" };
    let text = format!("{} {owner} {}{guess}{place}", drawn.mark, partition.state.name());
    safe::cut(&text, WIDTH)
}

/// A line of the whole legend: an entry with id, size and places.
fn whole(view: &View<'_>, drawn: &Drawn<'_>) -> [(Tone, String); 2] {
    let partition = drawn.partition;
    let id = safe::cut(&names::or_dash(partition.id.as_deref()), 36);
    let places = safe::cut(&names::places(&partition.places), 60);
    let entry = entry(view, drawn);
    let gap = WIDTH.saturating_sub(safe::width(&entry));
    let text = format!("{}{:gap$} {id} {} IPUs {places}", &entry[1..], "", partition.size);
    [(drawn.tone, drawn.mark.to_string()), (Tone::Plain, text)]
}

/// The partitions of others.
fn foreign(page: &mut Page, pod: &Pod) {
    for other in &pod.others {
        let (name, mark) = Use::of_other(other.because).name();
        let id = safe::cut(&names::or_dash(other.partition.as_deref()), 36);
        let places = safe::cut(&names::places(&other.places), 60);
        page.line(&format!("{mark} {name} {id} {} IPUs {places}", other.places.len()));
    }
}

/// The distance from one IPU to the next.
const STEP: usize = SIDE + 2;

/// Adds the map of a Pod.
fn add_picture(svg: &mut Svg, view: &View<'_>, model: &Model, pod: &Pod) {
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
    svg.legend(&uses(view, (model, pod), &drawn));
    let of_job = |drawn: &Drawn<'_>| {
        // The entry begins with its mark.
        let words = entry(view, drawn).chars().skip(2).collect();
        Entry { tone: drawn.tone, mark: drawn.mark.to_string(), words }
    };
    svg.legend(&drawn.iter().filter(|drawn| drawn.chosen).map(of_job).collect::<Vec<_>>());
}

fn ipu(
    svg: &mut Svg,
    view: &View<'_>,
    holders: &BTreeMap<Place, &Drawn<'_>>,
    (x, y): (usize, usize),
    (place, (mark, tone)): (Place, Cell),
) {
    let words = match holders.get(&place) {
        Some(drawn) if drawn.chosen => entry(view, drawn),
        _ => mark.to_string(),
    };
    let text = if mark == Use::Free.name().1 { String::new() } else { mark.to_string() };
    let title = format!("{} {words}", names::places(&[place]));
    svg.area(Area { x, y, width: SIDE, height: SIDE }, tone, &text, &title);
}

/// The uses of IPUs, and then the drains. The partitions have a legend of their own.
fn uses(view: &View<'_>, (model, pod): (&Model, &Pod), drawn: &[Drawn<'_>]) -> Vec<Entry> {
    let others = drawn.iter().find(|drawn| !drawn.chosen).map(|drawn| Entry {
        tone: drawn.tone,
        mark: NOT_CHOSEN.to_string(),
        words: "of other users".to_owned(),
    });
    let told = |kind: &Use| *kind != Use::Used && kind.count(&pod.ipus) > 0;
    let uses = Use::ALL.into_iter().filter(told).map(|kind| {
        let (name, mark) = kind.name();
        let mark = if kind == Use::Free { String::new() } else { mark.to_string() };
        Entry { tone: kind.tone(), mark, words: format!("{name} {}", kind.count(&pod.ipus)) }
    });
    let drains = drains::words(view, model, pod).into_iter().map(|words| {
        let (_, mark) = Use::Drained.name();
        Entry { tone: Use::Drained.tone(), mark: mark.to_string(), words: crate::safe::cut(&words, 40) }
    });
    uses.chain(others).chain(drains).collect()
}
