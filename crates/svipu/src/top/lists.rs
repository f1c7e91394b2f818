//! The two lists: the partitions of a Pod, and the jobs that wait for its model.

use vipu_status::{Job, Model, Status, WaitingJob};

use crate::map::Drawn;
use crate::page::Tone;
use crate::table::Column;
use crate::times::{limit, span};
use crate::view::View;
use crate::{job_queue, names, partition, safe};

/// A job with its place in the line of its model.
struct Queued<'a> {
    place: usize,
    job: &'a WaitingJob,
}

/// The list of partitions. The mark of each is that on the map.
pub(super) fn partitions(view: &View<'_>, drawn: Vec<Drawn<'_>>) -> Table {
    let chosen = drawn.into_iter().filter(|drawn| drawn.chosen);
    let job = |drawn: &Drawn<'_>| names::job(drawn.partition.job.as_deref());
    let rows: Vec<_> = chosen.map(|drawn| ((drawn.tone, drawn.mark), job(&drawn), drawn)).collect();
    Table::new(view, &partition_fields(), &rows)
}

/// The list of waiting jobs. They have no mark.
pub(super) fn waiting(view: &View<'_>, status: &Status, model: &Model) -> Table {
    let line = status.line.iter().filter(|job| *job.model == *model.name).zip(1..);
    let chosen = line.filter(|(job, _)| view.selection.has_owner(job.job.as_deref()));
    let name = |job: &WaitingJob| names::job(job.job.as_deref());
    let rows: Vec<_> =
        chosen.map(|(job, place)| ((Tone::Plain, ' '), name(job), Queued { place, job })).collect();
    Table::new(view, &waiting_fields(), &rows)
}

fn partition_fields<'a>() -> Vec<Field<Drawn<'a>>> {
    vec![
        Field::text("JOB", 14, |row, _| names::job(row.partition.job.as_deref())),
        Field::text("USER", 12, |row, view| view.user(row.partition.job.as_deref())),
        Field::text("NAME", 20, |row, _| name(row.partition.job.as_deref())),
        Field::number("IPUS", 6, |row, _| row.partition.size.to_string(), |row| row.partition.size.into()),
        Field::text("STATE", 9, |row, _| row.partition.state.name().to_owned()),
        Field::number(
            "FOR",
            10,
            |row, view| span(view.surroundings.now.saturating_sub(row.partition.since)),
            |row| row.partition.since.saturating_neg(),
        ),
        Field::number(
            "LEFT",
            10,
            |row, view| match row.partition.unlimited {
                true => "UNLIMITED".to_owned(),
                false => left(row.partition.ends, view),
            },
            |row| last(row.partition.ends),
        ),
        Field::text("PLACE", 20, |row, _| partition::place(row.partition)),
        Field::text("REASON", 200, |row, _| names::or_dash(partition::news(row.partition))),
    ]
}

fn waiting_fields<'a>() -> Vec<Field<Queued<'a>>> {
    vec![
        Field::number(
            "LINE",
            6,
            |row, _| row.place.to_string(),
            |row| i64::try_from(row.place).unwrap_or(i64::MAX),
        ),
        Field::text("JOB", 14, |row, _| names::job(row.job.job.as_deref())),
        Field::text("USER", 12, |row, view| view.user(row.job.job.as_deref())),
        Field::text("NAME", 12, |row, _| name(row.job.job.as_deref())),
        Field::number("IPUS", 6, |row, _| row.job.size.to_string(), |row| row.job.size.into()),
        Field::number("STARTS_IN", 10, |row, view| left(row.job.start, view), |row| last(row.job.start)),
        Field::text("REASON", 80, |row, _| reason(row.job)),
        // A narrow terminal cuts what is behind the reason.
        Field::number(
            "TIME_LIMIT",
            12,
            |row, _| limit(row.job.duration),
            |row| i64::try_from(row.job.duration).unwrap_or(i64::MAX),
        ),
        Field::text("PLACE", 40, |row, _| job_queue::place(row.job)),
    ]
}

/// The name of a job.
fn name(job: Option<&Job>) -> String {
    names::or_dash(job.and_then(|job| job.name.as_deref()))
}

/// A reason without what the list tells elsewhere, so that its rest fits a narrow terminal.
fn reason(job: &WaitingJob) -> String {
    let text = names::or_dash(job.reason.as_deref());
    let text = text.strip_prefix("vipu: ").unwrap_or(&text);
    let needed = format!("{} of {} needed, ", names::ipus(job.size), job.model);
    text.strip_prefix(&needed).unwrap_or(text).to_owned()
}

/// The time until then.
fn left(then: Option<i64>, view: &View<'_>) -> String {
    then.map_or_else(|| "-".to_owned(), |then| span(then.saturating_sub(view.surroundings.now)))
}

/// A time by which rows are sorted. An unknown one comes last.
fn last(then: Option<i64>) -> i64 {
    then.unwrap_or(i64::MAX)
}

/// A column with the number by which it is sorted. Without one its texts are sorted.
pub(super) struct Field<Row> {
    pub(super) column: Column<Row>,
    pub(super) number: Option<fn(&Row) -> i64>,
}

impl<Row> Field<Row> {
    /// A column of texts.
    pub(super) fn text(head: &'static str, width: usize, text: fn(&Row, &View<'_>) -> String) -> Self {
        Self { column: Column::new(head, head, width, text), number: None }
    }

    /// A column that is sorted by a number, which stands on the right.
    pub(super) fn number(
        head: &'static str,
        width: usize,
        text: fn(&Row, &View<'_>) -> String,
        number: fn(&Row) -> i64,
    ) -> Self {
        Self { column: Column::new(head, head, width, text).on_the_right(), number: Some(number) }
    }
}

/// The head of a column.
pub(super) struct Head {
    pub(super) text: &'static str,
    pub(super) right: bool,
    pub(super) width: usize,
    /// Whether a row has something to tell in this column.
    pub(super) is_shown: bool,
}

/// What a column is sorted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i64),
    Text(String),
}

/// A row with its mark on the map and the name of its job.
pub(super) struct Row {
    pub(super) mark: (Tone, char),
    pub(super) job: String,
    pub(super) cells: Vec<String>,
    keys: Vec<Key>,
}

/// A list with the texts of all cells.
#[derive(Default)]
pub(super) struct Table {
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// The table of these rows, each with its mark and its job.
    pub(super) fn new<R>(view: &View<'_>, fields: &[Field<R>], rows: &[((Tone, char), String, R)]) -> Self {
        let utf8 = view.surroundings.utf8();
        let cell = |field: &Field<R>, row: &R| {
            let text = (field.column.text)(row, view);
            let text = safe::cut(if text.is_empty() { "-" } else { &text }, field.column.width);
            if utf8 { text } else { safe::ascii(&text) }
        };
        let row = |(mark, job, row): &((Tone, char), String, R)| {
            let cells: Vec<_> = fields.iter().map(|field| cell(field, row)).collect();
            let key = |(field, cell): (&Field<R>, &String)| match field.number {
                Some(number) => Key::Number(number(row)),
                None => Key::Text(cell.to_lowercase()),
            };
            let keys = fields.iter().zip(&cells).map(key).collect();
            Row { mark: *mark, job: job.clone(), cells, keys }
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let head = |(place, field): (usize, &Field<R>)| {
            let widest = rows.iter().map(|row| safe::width(&row.cells[place])).max().unwrap_or(0);
            let Column { head: text, right, .. } = field.column;
            let is_shown = rows.is_empty() || rows.iter().any(|row| row.cells[place] != "-");
            Head { text, right, width: widest.max(text.len()), is_shown }
        };
        let heads = fields.iter().enumerate().map(head).collect();
        Self { heads, rows }
    }

    /// The rows that contain this text in small letters, sorted by a column or in their own order.
    pub(super) fn arranged(&self, filter: &str, order: Order) -> Vec<usize> {
        let mut places: Vec<_> =
            (0..self.rows.len()).filter(|row| self.rows[*row].contains(filter)).collect();
        if let Some(column) = order.column {
            places.sort_by(|one, other| {
                self.rows[*one].keys.get(column).cmp(&self.rows[*other].keys.get(column))
            });
        }
        if order.reversed {
            places.reverse();
        }
        places
    }
}

impl Row {
    /// Whether a cell contains this text in small letters.
    pub(super) fn contains(&self, text: &str) -> bool {
        text.is_empty() || self.cells.iter().any(|cell| cell.to_lowercase().contains(text))
    }
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// The column that decides. None for the list's own order.
    pub(super) column: Option<usize>,
    pub(super) reversed: bool,
}
