//! The past partitions of a user.

use super::record::{History, Log, Totals};
use crate::error::Failure;
use crate::names;
use crate::page::Page;
use crate::status::list;
use crate::table::Column;
use crate::times;
use crate::view::View;

/// The partitions that are shown.
pub(crate) const MOST: usize = 10;

type Shown = Column<History>;

const COLUMNS: &[Column<History>] = &[
    Shown::new("job", "JOB", 12, |row, _| names::or_dash(row.job.map(|job| job.to_string()).as_deref())),
    Shown::new("id", "ID", 36, |row, _| row.partition.clone()),
    Shown::new("model", "MODEL", 16, |row, _| row.model.clone()),
    Shown::new("size", "IPUS", 10, |row, _| names::or_dash(row.ipus.map(|ipus| ipus.to_string()).as_deref()))
        .on_the_right(),
    Shown::new("asked", "ASKED_FOR", 19, |row, view| view.time_if_known(row.asked)),
    Shown::new("time", "TIME", 14, |row, _| time(row)).on_the_right(),
    Shown::new("making", "MAKING", 10, |row, _| seconds(row.making)).on_the_right(),
    Shown::new("removing", "REMOVING", 10, |row, _| seconds(row.removing)).on_the_right(),
];

fn time(row: &History) -> String {
    let known =
        row.asked.zip(row.end()).and_then(|(asked, end)| u64::try_from(end.saturating_sub(asked)).ok());
    known.map_or_else(|| "-".to_owned(), times::limit)
}

fn seconds(known: Option<f64>) -> String {
    known.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1} s"))
}

/// The partitions that their jobs no longer have, or that the document does not have, the latest first.
pub(crate) fn of<'a>(view: &View<'_>, log: &'a Log) -> Vec<&'a History> {
    let current: std::collections::HashSet<_> =
        view.all.partitions.iter().map(|it| (&*it.model, &*it.controller, it.id.as_deref())).collect();
    let is_past = |it: &&History| {
        it.end().is_some() || !current.contains(&(&*it.model, &*it.controller, Some(&*it.partition)))
    };
    log.histories.iter().rev().filter(is_past).collect()
}

/// Adds the latest past partitions and the sums.
pub(crate) fn add(
    page: &mut Page,
    view: &View<'_>,
    log: &Log,
    past: &[&History],
    name: &str,
) -> Result<(), Failure> {
    let latest = &past[..past.len().min(MOST)];
    list(page, view, "latest past partitions", COLUMNS, latest, "job ID")?;
    let totals = Totals::of(past);
    page.line("");
    let since = view.time_if_known(log.since);
    let partitions = match totals.partitions {
        0 => "no past partition".to_owned(),
        1 => "1 past partition".to_owned(),
        several => format!("{several} past partitions"),
    };
    let mut words = format!("The audit log since {since} names {partitions} of {name}");
    if totals.time > 0.0 {
        let percent = totals.making_and_removing / totals.time * 100.0;
        words += &format!(
            ": {:.1} IPU hours; making and removing took {percent:.1} % of the time",
            totals.ipu_hours
        );
    }
    page.paragraph(&(words + "."));
    Ok(())
}
