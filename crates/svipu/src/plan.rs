//! `svipu plan`: who has which IPUs in the next hours.

mod chart;
mod picture;

use vipu_status::{Model, Pod};

use crate::document;
use crate::error::Failure;
use crate::map::{LINES, NOT_CHOSEN, TOO_LARGE, legend};
use crate::page::{Page, Tone};
use crate::status::NO_MODEL;
use crate::svg::Svg;
use crate::uses::Use;
use crate::view::{Part, View};
use crate::{safe, times};
use chart::{COLUMNS, Chart, Row};

/// The columns from one time on the axis to the next.
const TICK: usize = 10;

/// The groups of IPUs that are shown without `--all`.
const MOST_ROWS: usize = 12;

/// The picture of the command.
pub(crate) fn picture(view: &View<'_>, hours: u16) -> String {
    let mut svg = Svg::new();
    for model in &view.chosen.models {
        model.pods.iter().for_each(|pod| picture::add(&mut svg, view, (model, pod), hours));
    }
    svg.finish("svipu plan", &document::age(view.all, view.surroundings.now))
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
        let later = waiting.filter(|row| !chart::is_in_time(view, row, hours)).count();
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
    let key = legend::lines(key(&chart));
    key.iter().for_each(|line| page.line(line));
    // The age, the heading, the axis and the jobs without a plan take a line each, and the prompt the last one.
    let room = LINES.saturating_sub(shown + usize::from(more > 0) + key.len() + 5);
    let entries: Vec<_> = chart.bars.iter().filter_map(|bar| bar.text.clone()).collect();
    legend::fitting(page, &entries, if all { usize::MAX } else { room }, "more jobs: svipu plan --all");
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
fn key(chart: &Chart<'_>) -> Vec<String> {
    let has = |mark: char| chart.rows.iter().any(|row| row.cells.iter().any(|(cell, _)| *cell == mark));
    let mut words = vec![". free".to_owned(), "A-Z a-z partitions".to_owned(), "0-9 planned jobs".to_owned()];
    let others = Use::ALL.into_iter().filter(|kind| ![Use::Free, Use::Used].contains(kind)).map(Use::name);
    words.extend(others.filter(|(_, mark)| has(*mark)).map(|(name, mark)| format!("{mark} {name}")));
    words.extend(has(NOT_CHOSEN).then(|| format!("{NOT_CHOSEN} of other users")));
    words
}
