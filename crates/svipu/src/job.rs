//! `svipu job`: all that the document and the audit log know about a job.

use vipu_status::{Job, Partition, WaitingJob};

use crate::error::Failure;
use crate::history::{self, record::Of};
use crate::page::{Page, Tone};
use crate::view::{Part, View};
use crate::{job_queue, names, partition, safe, times};

/// The known jobs that an error names.
const NEAREST: usize = 3;

/// The page of the command.
pub(crate) fn show(view: &View<'_>, id: &str) -> Result<String, Failure> {
    let found = find(view, id);
    let log = history::read(view, &Of::Jobs(ids(found.as_ref().ok(), id)));
    let found = found.or_else(|unknown| history::only(unknown, &log))?;
    let Found { partitions, waiting, not_in_line, one_of } = found;
    if view.common.json {
        let history = log.as_ref().ok().map(|log| log.histories.iter().collect());
        let (partitions, line) = (Some(partitions), Some(waiting));
        let not_in_line = Some(not_in_line);
        return view.json(Part { partitions, line, not_in_line, history, ..Part::default() });
    }
    let mut page = view.page();
    partitions.iter().for_each(|entry| partition::add(&mut page, view, entry));
    waiting.iter().for_each(|entry| add_waiting(&mut page, view, entry));
    not_in_line.iter().for_each(|entry| add_not_in_line(&mut page, view, entry));
    one_of.iter().for_each(|note| page.paragraph(note));
    history::add(&mut page, view, &log);
    Ok(page.finish())
}

/// The ids of the jobs that the user means. The audit log has no names of tasks and components.
pub(crate) fn ids(found: Option<&Found<'_>>, id: &str) -> Vec<u32> {
    let jobs = found.into_iter().flat_map(|found| {
        let waiting = found.waiting.iter().chain(&found.not_in_line).filter_map(|entry| entry.job.as_deref());
        found.partitions.iter().filter_map(|entry| entry.job.as_deref()).chain(waiting)
    });
    jobs.map(|job| job.id).chain(id.parse()).collect()
}

/// All that has the name of a job. An array or a heterogeneous job has several jobs.
#[derive(Default)]
pub(crate) struct Found<'a> {
    /// Its partitions.
    pub(crate) partitions: Vec<&'a Partition>,
    /// Its places in line.
    pub(crate) waiting: Vec<&'a WaitingJob>,
    /// Its waits for something else than IPUs.
    pub(crate) not_in_line: Vec<&'a WaitingJob>,
    /// What is not known about a task, if the name is that of a task and only the waiting tasks of its array are there.
    pub(crate) one_of: Option<String>,
}

/// Looks a job up: by its name, by that of its partition, or as squeue names the waiting tasks of an array (`17_[2-5]`).
/// The error names the jobs with the nearest ids.
pub(crate) fn find<'a>(view: &'a View<'_>, id: &str) -> Result<Found<'a>, Failure> {
    let of_partition = view.chosen.partitions.iter().find(|entry| entry.id.as_deref() == Some(id));
    let of_partition = of_partition.and_then(|entry| entry.job.as_deref());
    let tasks = id.strip_suffix(']').and_then(|id| id.split_once("_["));
    let tasks = tasks.and_then(|(array, _)| array.parse::<u32>().ok());
    let is_it = |job: Option<&Job>| {
        job.is_some_and(|job| match (of_partition, tasks) {
            (Some(meant), _) => job.id == meant.id,
            // The tasks of an array that wait are one job, which has the array's id.
            (None, Some(array)) => job.id == array && job.array.is_none(),
            (None, None) => is_named(job, id),
        })
    };
    let partitions: Vec<_> =
        view.chosen.partitions.iter().filter(|entry| is_it(entry.job.as_deref())).collect();
    let [waiting, not_in_line] = waiting(view, |entry| is_it(entry.job.as_deref()));
    if !(partitions.is_empty() && waiting.is_empty() && not_in_line.is_empty()) {
        return Ok(Found { partitions, waiting, not_in_line, one_of: None });
    }
    let [waiting, not_in_line] = self::waiting(view, |entry| may_have_task(entry, id));
    let rest = waiting.iter().chain(&not_in_line).next();
    let one_of = rest.ok_or_else(|| unknown(view, id)).map(|rest| {
        let (array, task) = (names::job(rest.job.as_deref()), safe::cut(id, 30));
        format!(
            "The document knows only that {} tasks of job {array} wait: {task} may have ended (squeue -r -j {array}).",
            rest.tasks
        )
    })?;
    Ok(Found { partitions, waiting, not_in_line, one_of: Some(one_of) })
}

/// The jobs that the options choose.
pub(crate) fn chosen<'a>(view: &'a View<'_>) -> Found<'a> {
    let [waiting, not_in_line] = waiting(view, |_| true);
    Found { partitions: view.chosen.partitions.iter().collect(), waiting, not_in_line, one_of: None }
}

/// The error about an unknown job. One that was submitted, held or requeued a moment ago is not in the document yet.
fn unknown(view: &View<'_>, id: &str) -> Failure {
    let unknown = Failure::unknown("job", id, &nearest(view, id));
    if !id.starts_with(|first: char| first.is_ascii_digit()) {
        return unknown;
    }
    let age = times::span(view.surroundings.now.saturating_sub(view.all.written));
    unknown.with(&format!("the document is {age} old, and news of jobs come into it within 10 s"))
}

/// The waiting jobs that are meant: those in line, and the others.
fn waiting<'a>(view: &'a View<'_>, is_meant: impl Fn(&WaitingJob) -> bool) -> [Vec<&'a WaitingJob>; 2] {
    [&view.chosen.line, &view.chosen.not_in_line]
        .map(|jobs| jobs.iter().filter(|entry| is_meant(entry)).collect())
}

/// Whether `id` names a task that may wait in this place with others of its array, as `squeue -r` shows it. The
/// document has one place for all of them, and only their number.
fn may_have_task(entry: &WaitingJob, id: &str) -> bool {
    let array = entry.job.as_deref().filter(|_| entry.tasks > 1).map(|job| job.id.to_string());
    let task = id.split_once('_').filter(|(_, task)| task.parse::<u32>().is_ok());
    task.is_some_and(|(of, _)| array.as_deref() == Some(of))
}

/// Whether `id` names the job: its id, its name in squeue, or the id of its array or heterogeneous job.
fn is_named(job: &Job, id: &str) -> bool {
    let ids = [Some(job.id), job.array.map(|(array, _)| array), job.component.map(|(leader, _)| leader)];
    names::job(Some(job)) == id || id.parse().is_ok_and(|id| ids.contains(&Some(id)))
}

/// The names of the jobs with the nearest ids.
fn nearest(view: &View<'_>, id: &str) -> Vec<String> {
    let digits: String = id.chars().take_while(char::is_ascii_digit).collect();
    let id: u32 = digits.parse().unwrap_or(0);
    let running = view.chosen.partitions.iter().filter_map(|entry| entry.job.as_deref());
    let waiting = view.chosen.line.iter().chain(&view.chosen.not_in_line);
    let mut jobs: Vec<_> = running.chain(waiting.filter_map(|entry| entry.job.as_deref())).collect();
    jobs.sort_by_key(|job| (job.id.abs_diff(id), job.id));
    jobs.dedup_by_key(|job| job.id);
    jobs.iter().take(NEAREST).map(|job| names::job(Some(job))).collect()
}

fn add_waiting(page: &mut Page, view: &View<'_>, row: &WaitingJob) {
    let job = row.job.as_deref();
    page.toned(&[(Tone::Bold, &format!("waiting job {}", names::job(job)))]);
    let of_model: Vec<_> = view.all.line.iter().filter(|other| other.model == row.model).collect();
    let place = of_model.iter().position(|other| other.key == row.key).map_or(0, |place| place + 1);
    let ahead = row.behind.map(|key| view.all.line.iter().find(|other| other.key == key));
    let behind = match ahead {
        None => "-".to_owned(),
        Some(ahead) => format!("job {}", names::job(ahead.and_then(|other| other.job.as_deref()))),
    };
    let reservation = if row.rank.in_reservation { ", in a reservation" } else { "" };
    partition::owner(page, view, job);
    page.fields(&[
        ("model", row.model.to_string()),
        ("IPUs", row.size.to_string()),
        ("place in line", format!("{place} of {}", of_model.len())),
        ("priority", priority_and_tier(row) + reservation),
        ("time limit", times::limit(row.duration)),
        ("not before", view.time(row.not_before)),
        ("behind", behind),
        ("forecast start", view.time_if_known(row.start)),
        ("planned place", job_queue::place(row)),
        ("reason", names::or_dash(row.reason.as_deref())),
    ]);
}

fn priority_and_tier(row: &WaitingJob) -> String {
    let priority = job_queue::priority(row.rank).map(|priority| format!("{priority}, ")).unwrap_or_default();
    format!("{priority}tier {}", row.rank.tier)
}

fn add_not_in_line(page: &mut Page, view: &View<'_>, row: &WaitingJob) {
    let job = row.job.as_deref();
    page.toned(&[(Tone::Bold, &format!("waiting job {}, not in line for IPUs", names::job(job)))]);
    partition::owner(page, view, job);
    page.fields(&[
        ("model", row.model.to_string()),
        ("IPUs", row.size.to_string()),
        ("priority", priority_and_tier(row)),
        ("time limit", times::limit(row.duration)),
        ("reason", names::or_dash(row.reason.as_deref())),
    ]);
}
