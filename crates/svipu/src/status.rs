//! `svipu status`: each model, and the caller's own jobs.

use vipu_status::{Job, Status};

use crate::error::Failure;
use crate::model_lines;
use crate::page::{Page, Tone};
use crate::view::View;
use crate::{job_queue, partition_list, table};

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
        view.chosen.partitions.iter().filter(|entry| is_own(entry.job.as_ref())).collect();
    let waiting: Vec<_> = view.chosen.line.iter().filter(|entry| is_own(entry.job.as_ref())).collect();
    let (some, more) = shown(&partitions);
    if !some.is_empty() {
        page.line("");
        page.toned(&[(Tone::Bold, "your partitions")]);
        table::add(page, view, partition_list::COLUMNS, some)?;
    }
    if more > 0 {
        page.line(&format!("and {more} more: svipu partitions --me"));
    }
    let (some, more) = shown(&waiting);
    if !some.is_empty() {
        page.line("");
        page.toned(&[(Tone::Bold, "your waiting jobs")]);
        table::add(page, view, job_queue::COLUMNS, some)?;
    }
    if more > 0 {
        page.line(&format!("and {more} more: svipu queue --me"));
    }
    Ok(())
}

/// The first rows, and the number of the others.
fn shown<Row>(rows: &[Row]) -> (&[Row], usize) {
    let count = rows.len().min(MOST_OWN);
    (&rows[..count], rows.len() - count)
}
