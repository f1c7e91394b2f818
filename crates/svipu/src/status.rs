//! `svipu status`: each model, and the caller's own jobs.

use vipu_status::{Job, Status};

use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::table::list;
use crate::view::{NO_MODEL, View};
use crate::{job_queue, model_lines, partition};

/// The page of the command.
pub(crate) fn show(view: &View<'_>) -> Result<String, Failure> {
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&view.chosen)? + "\n");
    }
    let mut page = view.page();
    writer(&mut page, &view.chosen);
    if let Some(why) = &view.chosen.out_of_order {
        let line = format!("OUT OF ORDER: no job with IPUs starts until slurmctld is restarted: {why}");
        page.indented(Tone::Alarm, &line);
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
    list(page, view, "your partitions", partition::COLUMNS, &partitions, "partitions --me")?;
    list(page, view, "your waiting jobs", job_queue::COLUMNS, &waiting, "queue --me")
}
