//! The chart of a Pod: a map for each column of time.

use std::ops::Range;

use vipu_status::{Drain, Job, Model, Place, Pod, State, WaitingJob};

use crate::drains;
use crate::map::{self, Drawn, Grid, NOT_CHOSEN};
use crate::page::{Cell, Tone};
use crate::view::View;
use crate::{names, safe, times};

/// The columns of time.
pub(super) const COLUMNS: usize = 60;

/// The marks of planned jobs. More jobs use each mark several times.
const DIGITS: &[u8] = b"1234567890";

/// The IPUs of a Pod in time.
pub(super) struct Chart<'a> {
    /// Groups of neighbours that have the same jobs all the time.
    pub(super) rows: Vec<Row>,
    /// The partitions, and then the planned jobs.
    pub(super) bars: Vec<Bar<'a>>,
}

/// A group of IPUs.
pub(super) struct Row {
    pub(super) first: Place,
    pub(super) last: Place,
    /// The marks of each column.
    pub(super) cells: Vec<Cell>,
}

/// A partition or a planned job.
pub(super) struct Bar<'a> {
    pub(super) cell: Cell,
    pub(super) places: &'a [Place],
    pub(super) columns: Range<usize>,
    /// The entry of the legend. None if the options leave its owner out.
    pub(super) text: Option<String>,
}

impl Row {
    pub(super) fn label(&self) -> String {
        let Self { first, last, .. } = self;
        match (first == last, first.domain == last.domain) {
            (true, _) => format!("{}:{}", first.domain, first.index),
            (_, true) => format!("{}:{}-{}", first.domain, first.index, last.index),
            _ => format!("{}:{}-{}:{}", first.domain, first.index, last.domain, last.index),
        }
    }
}

impl<'a> Chart<'a> {
    /// The chart of the next hours. None if the Pod is too large.
    pub(super) fn new(view: &'a View<'_>, model: &Model, pod: &'a Pod, hours: u16) -> Option<Self> {
        let mut bars: Vec<_> =
            map::marked(view, model, pod).iter().map(|drawn| held(view, drawn, hours)).collect();
        let here = |row: &&WaitingJob| {
            *row.model == *model.name && row.planned_controller.as_ref() == Some(&pod.controller)
        };
        let planned = view.all.line.iter().filter(here).filter(|row| is_in_time(view, row, hours));
        let digits = DIGITS.iter().cycle().map(|digit| char::from(*digit));
        bars.extend(planned.zip(digits).map(|(row, digit)| planned_job(view, row, digit, hours)));
        Some(Self { rows: rows(view, (model, pod), &bars, hours)?, bars })
    }
}

/// Whether the job is planned to start before the end of the chart.
pub(super) fn is_in_time(view: &View<'_>, row: &WaitingJob, hours: u16) -> bool {
    row.start.is_some_and(|at| column(view, at, hours) < COLUMNS)
}

/// The column of a time. What is to come does not stand in the first column, which is now.
fn column(view: &View<'_>, at: i64, hours: u16) -> usize {
    let width = i64::from(hours) * 60;
    let after = at.saturating_sub(view.surroundings.now);
    match after {
        ..=0 => 0,
        _ => {
            usize::try_from((after.saturating_add(width / 2) / width).max(1)).unwrap_or(COLUMNS).min(COLUMNS)
        }
    }
}

fn held<'a>(view: &View<'_>, drawn: &Drawn<'a>, hours: u16) -> Bar<'a> {
    let Drawn { partition, mark, tone, chosen } = drawn;
    let (end, words) = match (partition.state, partition.ends) {
        // The IPUs of an idle partition can be had at any time.
        (State::Failed | State::Ending | State::Resetting | State::Idle | State::Removing, _) => {
            (1, partition.state.name().to_owned())
        }
        (_, Some(at)) => (column(view, at, hours).max(1), format!("until {}", clock(view, at))),
        (_, None) => (COLUMNS, "end unknown".to_owned()),
    };
    let text = match partition.state {
        State::Idle => format!("{mark} {} {words}", safe::cut(&names::or_dash(partition.id.as_deref()), 20)),
        _ => entry(view, *mark, partition.job.as_deref(), &words),
    };
    Bar { cell: (*mark, *tone), places: &partition.places, columns: 0..end, text: chosen.then_some(text) }
}

fn planned_job<'a>(view: &View<'_>, row: &'a WaitingJob, digit: char, hours: u16) -> Bar<'a> {
    let chosen = view.selection.has_owner(row.job.as_deref());
    let start = row.start.unwrap_or(view.surroundings.now);
    let end = start.saturating_add_unsigned(row.duration);
    let first = column(view, start, hours);
    let words = format!("{} {}-{}", names::ipus(row.size), clock(view, start), clock(view, end));
    let text = entry(view, digit, row.job.as_deref(), &words);
    Bar {
        cell: (if chosen { digit } else { NOT_CHOSEN }, Tone::Cyan),
        places: &row.planned_places,
        columns: first..column(view, end, hours).max(first + 1),
        text: chosen.then_some(text),
    }
}

/// An entry of the legend.
fn entry(view: &View<'_>, mark: char, job: Option<&Job>, words: &str) -> String {
    let (name, user) = (safe::cut(&names::job(job), 10), safe::cut(&view.user(job), 8));
    format!("{mark} {name} {user} {words}")
}

fn clock(view: &View<'_>, at: i64) -> String {
    times::clock(at, view.surroundings.now, &view.surroundings.zone)
}

/// The groups of IPUs. Later bars cover earlier ones.
fn rows<'a>(
    view: &View<'_>,
    (model, pod): (&Model, &'a Pod),
    bars: &[Bar<'a>],
    hours: u16,
) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let until = |drain: &Drain| drain.until.map_or(COLUMNS, |until| column(view, until, hours).max(1));
    let grid_at = |number: usize| {
        let mut grid = Grid::new(model, pod, bars.iter().flat_map(|bar| bar.places))?;
        let drains = drains::of_pod(view, model, pod).filter(|drain| number < until(drain));
        let drained = drains.map(|drain| drain.places(model, pod));
        grid.put_unusable(drained, pod.others.iter().filter(|other| number == 0 || !other.leaving));
        for bar in bars.iter().filter(|bar| bar.columns.contains(&number)) {
            grid.put(bar.places, bar.cell.0, bar.cell.1);
        }
        Some(grid)
    };
    let grids = (0..COLUMNS).map(grid_at).collect::<Option<Vec<_>>>()?;
    let mut columns: Vec<_> = grids.iter().map(Grid::cells).collect();
    loop {
        let across: Vec<_> = columns.iter_mut().filter_map(Iterator::next).collect();
        let Some((place, _)) = across.first().copied() else { return Some(rows) };
        let cells: Vec<Cell> = across.into_iter().map(|(_, cell)| cell).collect();
        match rows.last_mut().filter(|row| row.cells == cells) {
            Some(row) => row.last = place,
            None => rows.push(Row { first: place, last: place, cells }),
        }
    }
}
