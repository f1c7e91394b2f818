//! `svipu plan`: who has which IPUs in the next hours.

use std::ops::Range;

use vipu_status::{Drain, Job, Model, Place, Pod, State, WaitingJob};

use crate::error::Failure;
use crate::ipu_use::Use;
use crate::map::{self, Drawn, Grid, LINES, NOT_CHOSEN, TOO_LARGE};
use crate::page::{self, Cell, Line, Page, Tone};
use crate::svg::{Area, CHARACTER, Entry, LINE, Svg};
use crate::view::NO_MODEL;
use crate::view::{Part, View};
use crate::{drains, find_document, names, safe, times};

/// The columns from one time on the axis to the next.
const TICK: usize = 10;

/// The groups of IPUs that are shown without `--all`.
const MOST_ROWS: usize = 12;

/// The picture of the command.
pub(crate) fn picture(view: &View<'_>, hours: u16) -> String {
    let mut svg = Svg::new();
    for model in &view.chosen.models {
        model.pods.iter().for_each(|pod| add_picture(&mut svg, view, (model, pod), hours));
    }
    svg.finish("svipu plan", Some(&find_document::age(view.all, view.surroundings.now)))
}

/// The page of the command. With `all`, charts and legends are whole.
pub(crate) fn show(view: &View<'_>, hours: u16, all: bool) -> Result<String, Failure> {
    if view.common.json {
        return view.json(Part {
            models: Some(&view.chosen.models),
            partitions: Some(view.chosen.partitions.iter().collect()),
            line: Some(view.chosen.line.iter().collect()),
            ..Part::default()
        });
    }
    let mut page = view.page();
    if view.chosen.models.is_empty() {
        page.line(NO_MODEL);
    }
    for model in &view.chosen.models {
        for pod in &model.pods {
            draw(&mut page, view, (model, pod), hours, all);
        }
        let waiting = view.chosen.line.iter().filter(|row| *row.model == *model.name);
        let later = waiting.filter(|row| !is_in_time(view, row, hours)).count();
        if later > 0 {
            page.line(&format!("Waiting jobs without a plan in this time: {later} (svipu queue)"));
        }
    }
    Ok(page.finish())
}

fn draw(page: &mut Page, view: &View<'_>, (model, pod): (&Model, &Pod), hours: u16, all: bool) {
    let name = format!("{} on {}", safe::cut(&model.name, 16), safe::cut(&pod.controller, 20));
    page.toned(&[
        (Tone::Bold, &name),
        (Tone::Plain, &format!(": the next {hours} h, a column is {hours} min")),
    ]);
    if pod.ipus.total == 0 {
        page.line("  The controller has not told its IPUs yet.");
        return;
    }
    let Some(chart) = Chart::new(view, model, pod, hours) else {
        page.line(TOO_LARGE);
        return;
    };
    let shown = if all { chart.rows.len() } else { chart.rows.len().min(MOST_ROWS) };
    let rows = &chart.rows[..shown];
    let label = rows.iter().map(|row| row.label().len()).max().unwrap_or(0) + 1;
    page.toned(&[(Tone::Dim, &format!("{:label$}{}", "", axis(view, hours)))]);
    rows.iter().for_each(|row| line(page, row, label));
    let more = chart.rows.len() - shown;
    if more > 0 {
        page.line(&format!("and {more} more groups of IPUs: svipu plan --all"));
    }
    let key = page.packed(key(&chart), "", page::COLUMNS);
    // The age, the heading, the axis and the jobs without a plan take a line each, and the prompt the last one.
    let lines = view.surroundings.size.map_or(LINES, |(_, rows)| usize::from(rows).max(LINES));
    let room = lines.saturating_sub(shown + usize::from(more > 0) + key + 5);
    let entries: Vec<_> = chart.bars.iter().filter_map(|bar| Some((bar.cell.1, bar.text.clone()?))).collect();
    map::fitting(page, &entries, if all { usize::MAX } else { room }, "more jobs: svipu plan --all");
}

/// The times of the axis.
fn axis(view: &View<'_>, hours: u16) -> String {
    (0..COLUMNS).step_by(TICK).map(|column| format!("{:TICK$}", tick(view, column, hours))).collect()
}

/// The time at which a column begins.
fn tick(view: &View<'_>, column: usize, hours: u16) -> String {
    let seconds = i64::from(hours) * 60 * i64::try_from(column).unwrap_or(0);
    let now = view.surroundings.now;
    times::clock(now.saturating_add(seconds), now, &view.surroundings.zone)
}

fn line(page: &mut Page, row: &Row, label: usize) {
    page.cells(&format!("{:label$}", row.label()), row.cells.iter().copied());
}

/// The marks that occur, with their meaning.
fn key(chart: &Chart<'_>) -> impl Iterator<Item = Line> {
    let has = |mark: char| chart.rows.iter().any(|row| row.cells.iter().any(|(cell, _)| *cell == mark));
    let mut words = vec![". free".to_owned(), "A-Z a-z partitions".to_owned(), "0-9 planned jobs".to_owned()];
    let others = Use::ALL.into_iter().filter(|kind| ![Use::Free, Use::Used].contains(kind)).map(Use::name);
    words.extend(others.filter(|(_, mark)| has(*mark)).map(|(name, mark)| format!("{mark} {name}")));
    words.extend(has(NOT_CHOSEN).then(|| format!("{NOT_CHOSEN} of other users")));
    words.into_iter().map(|words| vec![(Tone::Plain, words)])
}

/// The columns of time.
const COLUMNS: usize = 60;

/// The marks of planned jobs. More jobs use each mark several times.
const DIGITS: &[u8] = b"1234567890";

/// The IPUs of a Pod in time.
struct Chart<'a> {
    /// Groups of neighbours that have the same jobs all the time.
    rows: Vec<Row>,
    /// The partitions, and then the planned jobs.
    bars: Vec<Bar<'a>>,
}

/// A group of IPUs.
struct Row {
    first: Place,
    last: Place,
    /// The marks of each column.
    cells: Vec<Cell>,
}

/// A partition or a planned job.
struct Bar<'a> {
    cell: Cell,
    places: &'a [Place],
    columns: Range<usize>,
    /// The entry of the legend. None if the options leave its owner out.
    text: Option<String>,
}

impl Row {
    fn label(&self) -> String {
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
    fn new(view: &'a View<'_>, model: &Model, pod: &'a Pod, hours: u16) -> Option<Self> {
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
fn is_in_time(view: &View<'_>, row: &WaitingJob, hours: u16) -> bool {
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

/// The width of a column of time.
const COLUMN: usize = 16;

/// The height of a bar, and the distance from one row to the next.
const BAR: usize = 20;
const STEP: usize = 22;

/// The groups of IPUs at most.
const MOST_DRAWN: usize = 128;

/// Adds the chart of a Pod.
fn add_picture(svg: &mut Svg, view: &View<'_>, (model, pod): (&Model, &Pod), hours: u16) {
    let top = svg.height + LINE / 2;
    svg.text(0, top, Tone::Bold, &format!("{} on {}: the next {hours} h", model.name, pod.controller));
    let Some(chart) = Chart::new(view, model, pod, hours) else { return };
    let shown = &chart.rows[..chart.rows.len().min(MOST_DRAWN)];
    let left = (shown.iter().map(|row| row.label().len()).max().unwrap_or(0) + 1) * CHARACTER;
    let (axis, first) = (top + LINE, top + 2 * LINE);
    for column in (0..COLUMNS).step_by(TICK) {
        svg.mark(left + column * COLUMN, axis, LINE + shown.len() * STEP);
        svg.text(left + column * COLUMN + 4, axis, Tone::Dim, &tick(view, column, hours));
    }
    for (number, row) in shown.iter().enumerate() {
        let y = first + number * STEP;
        svg.text(0, y, Tone::Dim, &row.label());
        for columns in runs(row) {
            bar(svg, &chart.bars, row, columns, (left, y));
        }
    }
    let more = chart.rows.len() - shown.len();
    if more > 0 {
        svg.text(0, svg.height, Tone::Dim, &format!("and {more} more groups of IPUs"));
    }
    let entry = |bar: &Bar<'_>| {
        let (mark, tone) = bar.cell;
        // The text begins with the mark.
        let words = bar.text.as_ref()?.chars().skip(2).collect();
        Some(Entry { tone, mark: mark.to_string(), words })
    };
    svg.legend(&chart.bars.iter().filter_map(entry).collect::<Vec<_>>());
}

/// The columns of each mark of a row, without the free ones.
fn runs(row: &Row) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (column, cell) in row.cells.iter().enumerate().filter(|(_, (mark, _))| *mark != Use::Free.name().1) {
        match runs.last_mut().filter(|run| run.end == column && row.cells[run.start] == *cell) {
            Some(run) => run.end = column + 1,
            None => runs.push(column..column + 1),
        }
    }
    runs
}

fn bar(svg: &mut Svg, bars: &[Bar<'_>], row: &Row, columns: Range<usize>, (left, y): (usize, usize)) {
    let (mark, tone) = row.cells[columns.start];
    let is_it = |bar: &&Bar<'_>| {
        bar.cell == (mark, tone) && bar.columns.contains(&columns.start) && bar.places.contains(&row.first)
    };
    let words =
        bars.iter().rev().find(is_it).and_then(|bar| bar.text.clone()).unwrap_or_else(|| mark.to_string());
    let width = columns.len() * COLUMN - 2;
    // Mark, job and user, if the times do not fit.
    let short = words.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let fits = |text: &&String| safe::width(text) * CHARACTER <= width;
    let text = [&words, &short].into_iter().find(fits).cloned().unwrap_or_else(|| mark.to_string());
    let area = Area { x: left + columns.start * COLUMN + 1, y, width, height: BAR };
    svg.area(area, tone, &text, &words);
}
