//! `svipu when`: the time at which a job that is not submitted could have its IPUs.

use std::time::Duration;

use serde::Serialize;
use vipu_forecast::{ModelForecast, Start};
use vipu_status::{Model, Place, WaitingJob};
use vipu_types::IpuCount;

use crate::error::Failure;
use crate::page::Page;
use crate::status::NO_MODEL;
use crate::view::View;
use crate::{drains, names};

/// The answer for one model, as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    model: &'a str,
    /// The time. None if the job would be refused, or if the time is unknown.
    at: Option<i64>,
    controller: Option<String>,
    places: Vec<Place>,
    /// The reason for a refusal.
    refused: Option<String>,
}

/// The page of the command.
pub(crate) fn show(view: &View<'_>, ipus: IpuCount, duration: Duration) -> Result<String, Failure> {
    let answers: Vec<_> =
        view.chosen.models.iter().map(|model| answer(view, model, ipus, duration)).collect();
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&answers)? + "\n");
    }
    let mut page = view.page();
    if answers.is_empty() {
        page.line(NO_MODEL);
    }
    for answer in &answers {
        tell(&mut page, view, answer, ipus);
    }
    Ok(page.finish())
}

fn answer<'a>(view: &View<'_>, model: &'a Model, ipus: IpuCount, duration: Duration) -> Answer<'a> {
    let limit = model.limits.job;
    let refused = (ipus.get() > limit).then(|| format!("a job on {} gets at most {limit} IPUs", model.name));
    // The line counts in full, whatever jobs the options choose.
    let forecast = ModelForecast::new(view.all, model, view.surroundings.now);
    let start = forecast.filter(|_| refused.is_none()).and_then(|it| it.new_job(ipus, duration));
    let Start { at, controller, places } = match start {
        Some(start) => start,
        None => return Answer { model: &model.name, at: None, controller: None, places: vec![], refused },
    };
    Answer { model: &model.name, at: Some(at), controller: Some(controller), places, refused }
}

fn tell(page: &mut Page, view: &View<'_>, answer: &Answer<'_>, ipus: IpuCount) {
    let model = answer.model;
    let ipus = names::ipus(ipus.get());
    if let Some(why) = &answer.refused {
        return page.line(&format!("{model}: the job would be refused: {why}."));
    }
    let (Some(at), Some(controller)) = (answer.at, &answer.controller) else {
        page.line(&format!("{model}: it is unknown when {ipus} will be free; see svipu status."));
        let drained = view.all.models.iter().filter(|it| it.name == *model);
        drained.flat_map(|it| drains::sentences(view, it)).for_each(|line| page.line(&format!("  {line}")));
        return;
    };
    page.line(&format!(
        "{model}: {ipus} could be had {}, on controller {controller}, places {}.",
        view.moment(at),
        names::places(&answer.places)
    ));
    page.line("  This holds for IPUs only, behind all jobs in line, if jobs use their whole time limits.");
    let tasks = further_tasks(&view.all.line, model);
    if tasks > 0 {
        page.line(&format!("  It does not count {tasks} further tasks of job arrays in line."));
    }
    let limits = view.all.models.iter().find(|it| it.name == *model).map(|it| &it.limits);
    if limits.is_some_and(|it| {
        !it.slurm_partition.is_empty() || !it.job_in_slurm_partition.is_empty() || !it.job_in_qos.is_empty()
    }) {
        page.line(
            "  Limits of Slurm partitions and QOS, which svipu status shows, may stop the job or delay it.",
        );
    }
}

/// The tasks of job arrays behind the one of each array that is in line. No forecast counts them.
fn further_tasks(line: &[WaitingJob], model: &str) -> u64 {
    line.iter().filter(|job| job.model == model).map(|job| u64::from(job.tasks.saturating_sub(1))).sum()
}
