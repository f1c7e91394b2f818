//! What the user of a waiting job could do.

use std::time::Duration;

use vipu_forecast::{ModelForecast, Start};
use vipu_status::Model;
use vipu_types::IpuCount;

use super::causes::Sentence;
use super::waiting::{Waiting, allowed, forecast};
use crate::{names, safe, times};

/// The seconds of the shortest time limit. Slurm counts in minutes.
const MINUTE: u64 = 60;

/// A smaller size, a shorter time limit and another model with which the job could start now. There is no
/// advice if the job has its IPUs as soon as Slurm looks at it again, if it waits for more than IPUs, or if it
/// is so far back in line that the forecast does not count all jobs before it.
pub(super) fn all(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let has_ipus = |start: Start| start.at <= waiting.now;
    if waiting.is_far_back() || waiting.row.not_before > waiting.now || waiting.start().is_some_and(has_ipus)
    {
        return Vec::new();
    }
    let advice = [smaller(waiting), shorter(waiting), other_model(waiting)];
    advice.into_iter().flatten().collect()
}

/// Whether the job could start now with this size and duration, at its place in line.
fn starts_now(waiting: &Waiting<'_>, size: u32, seconds: u64) -> bool {
    let start = |forecast: &ModelForecast<'_>| {
        let size = IpuCount::new(size.into()).ok()?;
        forecast.changed(waiting.ahead.len(), size, Duration::from_secs(seconds))
    };
    let start = waiting.forecast.as_ref().and_then(start);
    size <= allowed(waiting.row, waiting.model) && start.is_some_and(|start| start.at <= waiting.now)
}

fn smaller(waiting: &Waiting<'_>) -> Option<Sentence> {
    let row = waiting.row;
    let mut sizes = (0..u32::BITS).rev().map(|power| 1 << power).filter(|size| *size < row.size);
    let size = sizes.find(|size| starts_now(waiting, *size, row.duration))?;
    let text = format!(
        "With {} it could start now: scontrol update JobId={} Gres=vipu:{}:{size}",
        names::ipus(size),
        names::job(row.job.as_deref()),
        safe::cut(&row.model, 30)
    );
    Some(Sentence::new("smaller", text))
}

/// The longest time limit, in whole minutes, with which the job ends before it delays a plan.
fn shorter(waiting: &Waiting<'_>) -> Option<Sentence> {
    let row = waiting.row;
    let limit = times::limit(longest(row.duration, |seconds| starts_now(waiting, row.size, seconds))?);
    let text = format!(
        "With a time limit of {limit} or less it could start now, and end before the plans of the jobs ahead of it: \
         scontrol update JobId={} TimeLimit={limit}",
        names::job(row.job.as_deref())
    );
    Some(Sentence::new("shorter", text))
}

/// The longest time limit below `too_long` that fits, in seconds, of whole minutes.
pub(crate) fn longest(too_long: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut longest, mut too_long) = (1, too_long.div_ceil(MINUTE));
    if too_long <= longest || !fits(MINUTE) {
        return None;
    }
    while longest + 1 < too_long {
        let middle = longest + (too_long - longest) / 2;
        if fits(middle * MINUTE) { longest = middle } else { too_long = middle }
    }
    Some(longest * MINUTE)
}

/// Another model on which the job could start now, behind all jobs that wait there.
fn other_model(waiting: &Waiting<'_>) -> Option<Sentence> {
    let (row, view) = (waiting.row, waiting.view);
    let size = IpuCount::new(row.size.into()).ok()?;
    let has_room = |model: &&Model| {
        let start = forecast(view, model, waiting.now)
            .and_then(|it| it.new_job(size, Duration::from_secs(row.duration)));
        *model.name != *row.model
            && row.size <= allowed(row, model)
            && start.is_some_and(|it| it.at <= waiting.now)
    };
    let model = view.all.models.iter().find(has_room)?;
    let name = safe::cut(&model.name, 30);
    let text = format!(
        "{name} has room for it now, if its program can use {name}: scontrol update JobId={} Gres=vipu:{name}:{}",
        names::job(row.job.as_deref()),
        row.size
    );
    Some(Sentence::new("other_model", text))
}
