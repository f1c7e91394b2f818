//! `svipu when`: the time at which a job that is not submitted could have its IPUs.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use vipu_forecast::{ModelForecast, Start};
use vipu_status::{Model, Place, WaitingJob};
use vipu_types::{IpuCount, NotASize, words};

use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::view::NO_MODEL;
use crate::view::View;
use crate::why::advice;
use crate::why::causes::{self, Sentence};
use crate::{license_reservations, names, times};

/// The answer for one model, as JSON.
#[derive(Default, Serialize)]
struct Answer<'a> {
    model: &'a str,
    /// The time. None if the job would be refused, or if the time is unknown.
    at: Option<i64>,
    controller: Option<String>,
    places: Vec<Place>,
    /// The longest time limit with which it could start now, in seconds, if it could not with its own.
    time_limit_for_now: Option<u64>,
    /// The reason for a refusal.
    refused: Option<String>,
    /// Why the time is unknown.
    causes: Vec<Sentence>,
}

/// The page of the command.
pub(crate) fn show(view: &View<'_>, ipus: u64, duration: Duration) -> Result<String, Failure> {
    let ipus = IpuCount::new(ipus).map_err(|why| not_a_size(view, ipus, why))?;
    let models = view.chosen.models.iter();
    let answers: Vec<_> = models.map(|model| (model, answer(view, model, ipus, duration))).collect();
    if view.common.json {
        let answers: Vec<_> = answers.iter().map(|(_, answer)| answer).collect();
        return Ok(serde_json::to_string_pretty(&answers)? + "\n");
    }
    let mut page = view.page();
    if answers.is_empty() {
        page.line(NO_MODEL);
    }
    for (model, answer) in &answers {
        tell(&mut page, view, model, answer, (ipus, duration));
    }
    Ok(page.finish())
}

/// The words with which slurmctld refuses such a number of IPUs.
fn not_a_size(view: &View<'_>, ipus: u64, why: NotASize) -> Failure {
    let most = view.chosen.models.iter().max_by_key(|model| model.limits.job);
    let limit = most.map_or(u64::MAX, |model| model.limits.job.into());
    let (fault, sizes) = match (most, why) {
        (Some(model), _) if ipus > limit => (at_most(model), vec![1 << limit.max(1).ilog2()]),
        (_, NotASize::NotPowerOfTwo { below, above, .. }) => (why.to_string(), vec![below, above]),
        _ => (why.to_string(), vec![1]),
    };
    let valid = sizes.into_iter().filter(|size| *size <= limit).map(|size| format!("--ipus={size}"));
    words!("{fault}; valid: {}", valid.collect::<Vec<_>>().join(" or ")).into()
}

fn at_most(model: &Model) -> String {
    format!("a job on {} gets at most {}", model.name, names::ipus(model.limits.job))
}

fn answer<'a>(view: &View<'_>, model: &'a Model, ipus: IpuCount, duration: Duration) -> Answer<'a> {
    let refused = (ipus.get() > model.limits.job).then(|| at_most(model));
    let unknown = Answer { model: &model.name, refused, ..Answer::default() };
    // The line counts in full, whatever jobs the options choose.
    let forecast = ModelForecast::new(view.all, model, view.surroundings.now);
    let forecast = forecast.filter(|_| unknown.refused.is_none());
    let start_of = |seconds| forecast.as_ref()?.new_job(ipus, Duration::from_secs(seconds));
    let start = start_of(duration.as_secs());
    let now = view.surroundings.now.max(view.all.written);
    let is_now = |start: &Start| start.at <= now;
    let is_late = start.as_ref().is_some_and(|start| !is_now(start));
    let shorter = |seconds| start_of(seconds).as_ref().is_some_and(is_now);
    let time_limit_for_now = is_late.then(|| advice::longest(duration.as_secs(), shorter)).flatten();
    let unknown = Answer { time_limit_for_now, ..unknown };
    let is_open = |start: &Start| start.time(now).is_none();
    if start.as_ref().is_some_and(is_open) {
        let text = "Jobs without a time limit have the IPUs, or come before.".to_owned();
        return Answer { causes: vec![Sentence::new("unlimited", text)], ..unknown };
    }
    if let Some(text) = not_in_pool(model, ipus).filter(|_| unknown.refused.is_none()) {
        return Answer { causes: vec![Sentence::new("no_such_size", text)], ..unknown };
    }
    match start {
        Some(Start { at, controller, places }) => {
            Answer { at: Some(at), controller: Some(controller), places, ..unknown }
        }
        None if unknown.refused.is_some() => unknown,
        None => Answer { causes: causes::stops(view, model, view.surroundings.now), ..unknown },
    }
}

/// The words about a pool none of whose partitions serves the job. Until its controllers answer, its sizes are unknown.
fn not_in_pool(model: &Model, ipus: IpuCount) -> Option<String> {
    let sizes: BTreeSet<_> = model.pods.iter().flat_map(|pod| &pod.pool).map(|block| block.size).collect();
    if sizes.is_empty() || vipu_forecast::pool_serves(model, ipus) {
        return None;
    }
    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    let sizes = sizes.join(", ");
    Some(format!(
        "The pool has partitions of {sizes} IPUs. With SizePolicy=round-up the job gets the next larger size, otherwise it \
         is refused."
    ))
}

fn tell(
    page: &mut Page,
    view: &View<'_>,
    of: &Model,
    answer: &Answer<'_>,
    (ipus, duration): (IpuCount, Duration),
) {
    let Model { name: model, limits, .. } = of;
    let ipus = names::ipus(ipus.get());
    if let Some(why) = &answer.refused {
        return page.line(&format!("{model}: the job would be refused: {why}."));
    }
    let (Some(at), Some(controller)) = (answer.at, &answer.controller) else {
        page.line(&format!("{model}: it is unknown when {ipus} will be free; see svipu status."));
        answer.causes.iter().for_each(|cause| page.indented(Tone::Plain, &format!("  {}", cause.text)));
        return shorter(page, answer);
    };
    page.paragraph(&format!(
        "{model}: {ipus} could be had {}, on controller {controller}, places {}.",
        view.moment(at),
        names::places(&answer.places)
    ));
    shorter(page, answer);
    let condition =
        "  This holds for IPUs only, behind all jobs in line, if jobs use their whole time limits.";
    page.indented(Tone::Plain, condition);
    let end = at.saturating_add_unsigned(duration.as_secs());
    for sentence in license_reservations::sentences(view, of, end) {
        page.indented(Tone::Plain, &format!("  {sentence}"));
    }
    let tasks = further_tasks(&view.all.line, model);
    if tasks > 0 {
        page.line(&format!("  It does not count {tasks} further tasks of job arrays in line."));
    }
    let has_others = [
        limits.slurm_partition.is_empty(),
        limits.job_in_slurm_partition.is_empty(),
        limits.job_in_qos.is_empty(),
    ]
    .contains(&false);
    if has_others {
        let limits =
            "  Limits of Slurm partitions and QOS, which svipu status shows, may stop the job or delay it.";
        page.indented(Tone::Plain, limits);
    }
}

/// Tells a time limit with which the job would not wait.
fn shorter(page: &mut Page, answer: &Answer<'_>) {
    if let Some(limit) = answer.time_limit_for_now {
        page.line(&format!("  With a time limit of {} or less it could start now.", times::limit(limit)));
    }
}

/// The tasks of job arrays behind the one of each array that is in line. No forecast counts them.
fn further_tasks(line: &[WaitingJob], model: &str) -> u64 {
    line.iter().filter(|job| *job.model == *model).map(|job| u64::from(job.tasks.saturating_sub(1))).sum()
}
