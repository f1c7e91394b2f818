//! The chart of a Pod as a picture.

use std::ops::Range;

use vipu_status::{Model, Pod};

use super::chart::{Bar, COLUMNS, Chart, Row};
use super::{TICK, tick};
use crate::page::Tone;
use crate::safe;
use crate::svg::{Area, CHARACTER, Entry, LINE, Svg};
use crate::uses::Use;
use crate::view::View;

/// The width of a column of time.
const COLUMN: usize = 16;

/// The height of a bar, and the distance from one row to the next.
const BAR: usize = 20;
const STEP: usize = 22;

/// The groups of IPUs at most.
const MOST_ROWS: usize = 128;

/// Adds the chart of a Pod.
pub(super) fn add(svg: &mut Svg, view: &View<'_>, (model, pod): (&Model, &Pod), hours: u16) {
    let top = svg.height + LINE / 2;
    svg.text(0, top, Tone::Bold, &format!("{} on {}: the next {hours} h", model.name, pod.controller));
    let Some(chart) = Chart::new(view, model, pod, hours) else { return };
    let shown = &chart.rows[..chart.rows.len().min(MOST_ROWS)];
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
