//! The legend of a Pod: the partition of each letter.

use vipu_status::{Model, Pod, State};

use super::{Drawn, NOT_CHOSEN};
use crate::drains;
use crate::page::{Page, Tone};
use crate::uses::Use;
use crate::view::View;
use crate::{names, safe};

/// Entries that stand beside each other, and the width of one.
const BESIDE: usize = 2;
const WIDTH: usize = 39;

/// The lines about drains.
const MOST_DRAINS: usize = 3;

/// Adds the legend, with `room` lines at most if that is given.
pub(super) fn add(
    page: &mut Page,
    view: &View<'_>,
    (model, pod): (&Model, &Pod),
    drawn: &[Drawn<'_>],
    room: Option<usize>,
) {
    let mut key = key(pod, drawn);
    key.extend(shortened(drains::words(view, model, pod), room.is_none()));
    key.iter().for_each(|line| page.line(line));
    let room = room.map(|room| room.saturating_sub(key.len()));
    let shown: Vec<_> = drawn.iter().filter(|drawn| drawn.chosen).collect();
    let Some(room) = room else {
        shown.iter().for_each(|drawn| {
            page.toned(&whole(view, drawn).each_ref().map(|(tone, text)| (*tone, &**text)))
        });
        foreign(page, pod);
        return;
    };
    let entries: Vec<_> = shown.iter().map(|drawn| entry(view, drawn)).collect();
    fitting(page, &entries, room, "more partitions: svipu map --all");
}

/// Adds entries beside each other, in `room` lines at most. The last line then tells how many are left out.
pub(crate) fn fitting(page: &mut Page, entries: &[String], room: usize, left_out: &str) {
    let lines = beside(entries);
    let shown = if lines.len() > room { room.saturating_sub(1) } else { lines.len() };
    lines[..shown].iter().for_each(|line| page.line(line));
    let left = entries.len().saturating_sub(shown * BESIDE);
    if left > 0 {
        page.line(&format!("and {left} {left_out}"));
    }
}

/// The lines with the marks that occur.
fn key(pod: &Pod, drawn: &[Drawn<'_>]) -> Vec<String> {
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
    lines(words)
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

/// Words in lines that fit a terminal.
pub(crate) fn lines(words: Vec<String>) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word,
            Some(line) if line.len() + 2 + word.len() <= 2 * WIDTH => *line += &format!("  {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

/// Entries of a legend beside each other, in lines that fit a terminal.
pub(crate) fn beside(entries: &[String]) -> Vec<String> {
    let padded = |text: &String| {
        let text = safe::cut(text, WIDTH);
        let gap = WIDTH.saturating_sub(safe::width(&text));
        text + &" ".repeat(gap)
    };
    let line = |row: &[String]| row.iter().map(padded).collect::<Vec<_>>().join("  ").trim_end().to_owned();
    entries.chunks(BESIDE).map(line).collect()
}

/// An entry: mark, job, user, state.
pub(super) fn entry(view: &View<'_>, drawn: &Drawn<'_>) -> String {
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
