//! The two lists: the partitions of a Pod, and the jobs that wait for its model.

use vipu_status::{Model, Status, WaitingJob};

use super::table::{Field, Table};
use crate::map::Drawn;
use crate::page::Tone;
use crate::times::{limit, span};
use crate::view::View;
use crate::{job_queue, names, partition_list};

/// A job with its place in the line of its model.
struct Queued<'a> {
    place: usize,
    job: &'a WaitingJob,
}

/// The list of partitions. The mark of each is that on the map.
pub(super) fn partitions(view: &View<'_>, drawn: Vec<Drawn<'_>>) -> Table {
    let chosen = drawn.into_iter().filter(|drawn| drawn.chosen);
    let rows: Vec<_> = chosen.map(|drawn| ((drawn.tone, drawn.mark), drawn)).collect();
    Table::new(view, &partition_fields(), &rows)
}

/// The list of waiting jobs. They have no mark.
pub(super) fn waiting(view: &View<'_>, status: &Status, model: &Model) -> Table {
    let line = status.line.iter().filter(|job| *job.model == *model.name).zip(1..);
    let chosen = line.filter(|(job, _)| view.selection.has_owner(job.job.as_deref()));
    let rows: Vec<_> = chosen.map(|(job, place)| ((Tone::Plain, ' '), Queued { place, job })).collect();
    Table::new(view, &waiting_fields(), &rows)
}

fn partition_fields<'a>() -> Vec<Field<Drawn<'a>>> {
    vec![
        Field::text("JOB", 14, |row, _| names::job(row.partition.job.as_deref())),
        Field::text("USER", 12, |row, view| view.user(row.partition.job.as_deref())),
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
        Field::text("PLACE", 20, |row, _| partition_list::place(row.partition)),
        Field::text("NAME", 20, |row, _| {
            names::or_dash(row.partition.job.as_deref().and_then(|job| job.name.as_deref()))
        }),
        Field::text("REASON", 200, |row, _| names::or_dash(row.partition.reason.as_deref())),
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
        Field::number("IPUS", 6, |row, _| row.job.size.to_string(), |row| row.job.size.into()),
        Field::number(
            "TIME_LIMIT",
            12,
            |row, _| limit(row.job.duration),
            |row| i64::try_from(row.job.duration).unwrap_or(i64::MAX),
        ),
        Field::number("STARTS_IN", 10, |row, view| left(row.job.start, view), |row| last(row.job.start)),
        Field::text("REASON", 52, |row, _| names::or_dash(row.job.reason.as_deref())),
        Field::text("PLACE", 40, |row, _| job_queue::place(row.job)),
    ]
}

/// The time until then.
fn left(then: Option<i64>, view: &View<'_>) -> String {
    then.map_or_else(|| "-".to_owned(), |then| span(then.saturating_sub(view.surroundings.now)))
}

/// A time by which rows are sorted. An unknown one comes last.
fn last(then: Option<i64>) -> i64 {
    then.unwrap_or(i64::MAX)
}
