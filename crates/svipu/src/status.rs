//! `svipu status`: each model, and the caller's own jobs.

use vipu_status::{Job, Status};

use crate::error::Failure;
use crate::model_lines;
use crate::page::{Page, Tone};
use crate::table::{self, Column};
use crate::view::View;
use crate::{job_queue, partition_list};

/// The rows of each of the caller's lists.
const MOST_OWN: usize = 20;

/// The line of a document without models.
pub(crate) const NO_MODEL: &str = "There is no Pod model: vipu.conf names none that is in force.";

/// The page of the command.
pub(crate) fn show(view: &View<'_>) -> Result<String, Failure> {
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&view.chosen)? + "\n");
    }
    let mut page = view.page();
    writer(&mut page, &view.chosen);
    if let Some(why) = &view.chosen.out_of_order {
        let line = format!("OUT OF ORDER: no job with IPUs starts until slurmctld is restarted: {why}");
        page.toned(&[(Tone::Alarm, &line)]);
    }
    if view.chosen.models.is_empty() {
        page.line(NO_MODEL);
    }
    view.chosen.models.iter().for_each(|model| model_lines::add(&mut page, view, model));
    own(&mut page, view)?;
    Ok(page.finish())
}

fn writer(page: &mut Page, status: &Status) {
    let writer = &status.writer;
    if !writer.version.is_empty() {
        let line =
            format!("cluster {}, slurm-vipu {}, Slurm {}", writer.cluster, writer.version, writer.slurm);
        page.line(&line);
    }
}

/// Adds the partitions and waiting jobs of the caller.
fn own(page: &mut Page, view: &View<'_>) -> Result<(), Failure> {
    let is_own = |job: Option<&Job>| job.is_some_and(|job| job.user == view.surroundings.user);
    let partitions: Vec<_> =
        view.chosen.partitions.iter().filter(|entry| is_own(entry.job.as_deref())).collect();
    let waiting: Vec<_> = view.chosen.line.iter().filter(|entry| is_own(entry.job.as_deref())).collect();
    list(page, view, "your partitions", partition_list::COLUMNS, &partitions, "partitions --me")?;
    list(page, view, "your waiting jobs", job_queue::COLUMNS, &waiting, "queue --me")
}

/// Adds a list with its heading, if it has rows. `all` is the command that shows the rows that are left out.
pub(crate) fn list<Row>(
    page: &mut Page,
    view: &View<'_>,
    heading: &str,
    columns: &[Column<Row>],
    rows: &[&Row],
    all: &str,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let (some, more) = shown(rows);
    page.line("");
    page.toned(&[(Tone::Bold, heading)]);
    table::add(page, view, columns, some)?;
    if more > 0 {
        page.line(&format!("and {more} more: svipu {all}"));
    }
    Ok(())
}

/// The first rows, and the number of the others.
fn shown<Row>(rows: &[Row]) -> (&[Row], usize) {
    let count = rows.len().min(MOST_OWN);
    (&rows[..count], rows.len() - count)
}
