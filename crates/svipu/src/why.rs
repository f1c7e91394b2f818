//! `svipu why`: the causes for which a job waits, and what would help, in whole sentences.

pub(crate) mod advice;
pub(crate) mod causes;
mod waiting;

use std::time::Duration;

use serde::Serialize;
use vipu_forecast::Start;
use vipu_status::{Job, Partition, State, WaitingJob};
use vipu_types::IpuCount;

use crate::error::Failure;
use crate::history::record::Of;
use crate::job::{self, Found};
use crate::page::Tone;
use crate::times::span;
use crate::view::View;
use crate::{history, license_reservations, names, partition, safe};
use causes::{Sentence, capital};
use waiting::{Waiting, forecast};

/// What svipu tells about a job.
#[derive(Serialize)]
struct Answer {
    job: String,
    /// What the job waits for and its expected start, or what its partition does.
    summary: String,
    /// The causes, each following from the next ones.
    causes: Vec<Sentence>,
    /// What its user could do.
    advice: Vec<Sentence>,
}

/// The jobs that are told without `id`.
const MOST_JOBS: usize = 10;

/// The page of the command. Without `id` it is about the jobs that the options choose.
pub(crate) fn show(view: &View<'_>, id: Option<&str>) -> Result<String, Failure> {
    let found = match id {
        None => Ok(job::chosen(view)),
        Some(id) => job::find(view, id).map_err(|unknown| match ended(view, id) {
            Some(clause) => unknown.with(&clause),
            None => unknown,
        }),
    };
    let Found { partitions, waiting, not_in_line, one_of } = found?;
    let waits = |job: &Job| {
        let rows = waiting.iter().chain(&not_in_line);
        rows.filter_map(|row| row.job.as_deref()).any(|other| other.id == job.id)
    };
    let mut answers: Vec<_> = partitions
        .iter()
        .map(|entry| with_partition(view, entry, entry.job.as_deref().is_some_and(waits)))
        .collect();
    answers.extend(waiting.iter().map(|row| answer(view, row)));
    answers.extend(not_in_line.iter().map(|row| out_of_line(view, row)));
    for answer in &mut answers {
        answer.causes.extend(one_of.clone().map(|text| Sentence::new("one_of_tasks", text)));
    }
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&answers)? + "\n");
    }
    let mut page = view.page();
    let told = if id.is_none() { MOST_JOBS } else { usize::MAX };
    if answers.is_empty() {
        page.line("The document names no job with IPUs of this user.");
    }
    for (number, answer) in answers.iter().enumerate().take(told) {
        if number > 0 {
            page.line("");
        }
        page.paragraph(&answer.summary);
        for (head, sentences) in [("Why:", &answer.causes), ("What would help:", &answer.advice)] {
            if !sentences.is_empty() {
                page.toned(&[(Tone::Bold, head)]);
            }
            sentences.iter().for_each(|sentence| page.item(&sentence.text));
        }
    }
    if answers.len() > told {
        page.line("");
        page.line(&format!("and {} more jobs: svipu why JOB", answers.len() - told));
    }
    Ok(page.finish())
}

/// Where a job is found that has ended. None if `id` names no job, or if the document hides jobs.
fn ended(view: &View<'_>, id: &str) -> Option<String> {
    let all = view.all;
    let mut waiting = all.line.iter().chain(&all.not_in_line);
    let hides = all.partitions.iter().any(Partition::has_hidden_job) || waiting.any(|row| row.job.is_none());
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    if hides || !id.split(['_', '+']).all(is_number) {
        return None;
    }
    let log = history::read(view, &Of::Jobs(job::ids(None, id)));
    Some(match log.is_ok_and(|log| !log.histories.is_empty()) {
        true => format!("it has ended: see svipu job {id}"),
        false => format!("if it has ended, sacct -j {id} or scontrol show job {id} knows it"),
    })
}

fn answer(view: &View<'_>, row: &WaitingJob) -> Answer {
    let job = names::job(row.job.as_deref());
    let wants = format!("{}.", wants(view, row));
    let mut causes: Vec<_> = reason(row).into_iter().collect();
    let Some(model) = view.all.models.iter().find(|model| *model.name == *row.model) else {
        causes.push(causes::no_model(view, row));
        return Answer { job, summary: wants, causes, advice: Vec::new() };
    };
    let waiting = Waiting::new(view, row, model);
    // The sentences below tell about others in line.
    let known = row.reason.as_deref().filter(|reason| !["Priority", "Resources"].contains(reason));
    let known = known.and_then(Cause::of).map(|it| Sentence::new("slurm", it.text.to_owned()));
    causes.extend(causes::stops(view, model, waiting.now));
    causes.extend(causes::limits(&waiting));
    causes.extend(causes::room(&waiting).into_iter().filter(|it| known.is_none() || !it.is("free_now")));
    causes.extend(known);
    causes.extend(causes::ahead(&waiting));
    causes.extend(causes::planned_block(&waiting));
    causes.extend(not_before(&waiting));
    Answer { job, summary: format!("{wants} {}", expected(&waiting)), causes, advice: advice::all(&waiting) }
}

/// The beginning of the first sentence: the job and its IPUs.
fn wants(view: &View<'_>, row: &WaitingJob) -> String {
    let owner = capital(&view.owner(row.job.as_deref()));
    format!("{owner} waits for {} of {}", names::ipus(row.size), safe::cut(&row.model, 30))
}

fn reason(row: &WaitingJob) -> Option<Sentence> {
    let text = row.reason.as_deref().filter(|text| !text.is_empty())?;
    Some(Sentence::new("reason", format!("The reason at Slurm's last look: {}", safe::cut(text, 300))))
}

/// The expected start.
fn expected(waiting: &Waiting<'_>) -> String {
    if waiting.lacks_only_nodes() {
        return format!("A block of {} is free now.", names::ipus(waiting.row.size));
    }
    let (Some(Start { controller, places, .. }), Some(at)) = (waiting.start(), waiting.common_start()) else {
        return "It is unknown when it can have them.".to_owned();
    };
    let places =
        if places.is_empty() { String::new() } else { format!(", places {}", names::places(&places)) };
    let others = match waiting.row.job.as_deref().and_then(|job| job.component) {
        Some((leader, _)) => format!(" with all components of job {leader}"),
        None => String::new(),
    };
    let tasks: u64 = waiting.ahead.iter().map(|other| u64::from(other.tasks.saturating_sub(1))).sum();
    let tasks = match tasks {
        0 => String::new(),
        _ => format!(" This does not count {tasks} further tasks of job arrays ahead of it."),
    };
    format!(
        "It can have its IPUs{others} {} (controller {}{places}), if all jobs before it use their whole time limits.{tasks}",
        waiting.view.moment(at),
        safe::cut(&controller, 60)
    )
}

fn not_before(waiting: &Waiting<'_>) -> Option<Sentence> {
    let at = Some(waiting.row.not_before).filter(|at| *at > waiting.now)?;
    let moment = waiting.view.moment(at);
    let text = match waiting.lacks_only_nodes() {
        true => format!("It waits for nodes, expected {moment}."),
        false => {
            format!("Without regard to IPUs, Slurm expects its nodes and all else that it needs {moment}.")
        }
    };
    Some(Sentence::new("nodes", text))
}

/// What the job's partition does. A job that `waits` beside it was requeued.
fn with_partition(view: &View<'_>, partition: &Partition, waits: bool) -> Answer {
    let now = view.surroundings.now;
    let ago = span(now.saturating_sub(partition.since));
    let owner = capital(&view.owner(partition.job.as_deref()));
    let id = partition.id.as_deref().map(|id| format!("Partition {}", safe::cut(id, 40)));
    let what = format!(
        "{}: {} of {}, places {} of controller {}",
        id.unwrap_or_else(|| "Its partition".to_owned()),
        names::ipus(partition.size),
        safe::cut(&partition.model, 30),
        partition::place(partition),
        safe::cut(&partition.controller, 60)
    );
    let until =
        |words: &str| partition.ends.map_or_else(String::new, |at| format!(" {words} {}", view.time(at)));
    let ready = match partition.ready_expected {
        Some(at) if at > now => format!(" It is expected to be ready {}.", view.moment(at)),
        Some(at) => format!(" It was expected to be ready {} ago.", span(now.saturating_sub(at))),
        None => String::new(),
    };
    let why = partition.reason.as_deref().filter(|why| !why.is_empty());
    let why = why.map(|why| format!(" The reason: {}.", safe::cut(why, 200))).unwrap_or_default();
    let progress = partition::news(partition).map(without_time).filter(|told| !told.is_empty());
    let progress = progress.map(|told| format!(" {}.", capital(&safe::cut(told, 200)))).unwrap_or_default();
    let ended = if waits { "was requeued: its last run has ended" } else { "has ended" };
    let state = match partition.state {
        State::Preparing => format!(
            "does not wait for IPUs, but for nodes. Its partition has been in the making for {ago}.{ready}{progress}"
        ),
        State::Prepared => {
            format!("does not wait for IPUs, but for nodes. Its partition has been ready for {ago}.")
        }
        State::Creating => {
            format!("has its nodes. Its partition has been in the making for {ago}.{ready}{progress}")
        }
        State::Ready => {
            format!("has its nodes, and its partition has been ready for {ago}: it is about to start.")
        }
        State::Running if partition.unlimited => {
            format!("does not wait: it has run for {ago}. It has no time limit, so its end is unknown.")
        }
        State::Running => format!("does not wait: it has run for {ago}{}.", until("and may run until")),
        State::Failed => {
            format!("cannot have its IPUs: its partition cannot be made, and it is sent back or ended.{why}")
        }
        State::Kept => format!("has failed. Its partition is kept{}.{why}", until("until")),
        State::Ending => format!(
            "{ended} {ago} ago. Its partition is removed when the job's nodes have finished their work for it."
        ),
        State::Resetting => format!("{ended}. Its partition has been in reset for {ago}."),
        State::Idle => format!("has ended {ago} ago. Its partition is idle."),
        State::Removing => format!("{ended}. Its partition has been in removal for {ago}."),
    };
    Answer {
        job: names::job(partition.job.as_deref()),
        summary: format!("{owner} {state} {what}."),
        causes: Vec::new(),
        advice: if partition.state == State::Kept { kept(partition) } else { Vec::new() },
    }
}

/// The news of a create (`20 s, usually 2.0 s, try 4: ...`) without the time, which was right when they were told.
fn without_time(news: &str) -> &str {
    let (time, rest) = news.split_once(" s").unwrap_or_default();
    if time.parse::<u64>().is_ok() { rest.trim_start_matches(", ") } else { news }
}

/// What its user can do with a kept partition.
fn kept(partition: &Partition) -> Vec<Sentence> {
    let (Some(id), Some(job)) = (&partition.id, &partition.job) else { return Vec::new() };
    let (id, job) = (safe::cut(id, 40), names::job(Some(job)));
    let text = format!(
        "Its user can look into the failure (svipu env {job}), and remove the partition early (svipu partition free {id})."
    );
    vec![Sentence::new("kept", text)]
}

/// What the job waits for, as far as Slurm's reason tells it.
fn out_of_line(view: &View<'_>, row: &WaitingJob) -> Answer {
    let job = names::job(row.job.as_deref());
    let summary =
        format!("{}, but is not in line for them: it waits for something else first.", wants(view, row));
    let known = row.reason.as_deref().and_then(Cause::of);
    // Slurm gives a held job no priority.
    let known = known.or_else(|| (row.rank.priority == 0).then_some(Cause::HELD));
    let mut causes: Vec<_> = reason(row).into_iter().collect();
    causes.extend(known.as_ref().map(|it| Sentence::new("slurm", it.text.to_owned())));
    let begins = Some(row.not_before).filter(|at| *at > view.surroundings.now.max(view.all.written));
    causes.extend(begins.map(|at| Sentence::new("begin", format!("It may begin {}.", view.moment(at)))));
    let user = safe::cut(&view.user(row.job.as_deref()), 30);
    let advice = known.iter().filter_map(|it| it.advice(&job, &user)).collect();
    match view.all.models.iter().find(|model| *model.name == *row.model) {
        None => causes.push(causes::no_model(view, row)),
        Some(model) => {
            let waiting = Waiting::new(view, row, model);
            causes.extend(causes::stops(view, model, waiting.now));
            causes.extend(causes::limits(&waiting));
            if row.reason.as_deref() == Some("Licenses") && !row.rank.in_reservation {
                let end = waiting.now.saturating_add_unsigned(row.duration);
                let reserved = license_reservations::sentences(view, model, end).into_iter();
                causes.extend(reserved.map(|text| Sentence::new("reservation", text)));
            }
            causes.extend(later(&waiting));
        }
    }
    Answer { job, summary, causes, advice }
}

/// The time at which the job could have its IPUs, if nothing else kept it.
fn later(waiting: &Waiting<'_>) -> Option<Sentence> {
    let size = IpuCount::new(waiting.row.size.into()).ok()?;
    let forecast = forecast(waiting.view, waiting.model, waiting.now)?;
    let start = forecast.new_job(size, Duration::from_secs(waiting.row.duration))?;
    let at = start.time(waiting.now)?;
    let text = format!(
        "At the end of the line, a job of this size and time limit could have its IPUs {}.",
        waiting.view.moment(at)
    );
    Some(Sentence::new("if_in_line", text))
}

const LIMITS: Option<&str> =
    Some("The limits and their use: svipu limits USER; the job: scontrol show job JOB");

/// A reason of Slurm (`squeue`, JOB REASON CODES), in a sentence.
struct Cause {
    text: &'static str,
    /// Commands that help. JOB and USER stand for the names.
    help: Option<&'static str>,
}

impl Cause {
    /// The reasons by the beginning of their names.
    const ALL: &[(&str, &str, Option<&str>)] = &[
        ("JobHeldUser", "Its user holds it.", Some("It waits in line after: scontrol release JOB")),
        (
            "JobHeldAdmin",
            "An administrator holds it, or Slurm after a failure. Only an administrator can release it.",
            Some("An administrator lets it wait in line again with: scontrol release JOB"),
        ),
        (
            "DependencyNeverSatisfied",
            "It waits for another job that has ended otherwise than it needs: it can never start.",
            Some("It goes away with: scancel JOB"),
        ),
        (
            "Dependency",
            "It waits for other jobs.",
            Some("The jobs that it waits for: squeue -O Dependency -j JOB"),
        ),
        ("BeginTime", "It may not begin yet: its --begin or the pause after a requeue is not over.", None),
        ("AccountNotAllowed", "Its Slurm partition does not allow its account.", None),
        ("QOSNotAllowed", "Its Slurm partition or account does not allow its QOS.", None),
        ("Assoc", "A limit of its account or user is reached.", LIMITS),
        ("QOS", "A limit of its QOS is reached.", LIMITS),
        ("MaxGRESPerAccount", "A limit of its QOS for its account is reached.", LIMITS),
        ("MaxLicensePerAccount", "A limit of its QOS for its account is reached.", LIMITS),
        ("JobArrayTaskLimit", "As many tasks of its array run as may run at one time (% in --array).", None),
        (
            "PartitionNodeLimit",
            "It asks for more nodes than its Slurm partition has or allows, or for fewer than MinNodes.",
            Some(
                "Fewer nodes, as the Slurm partition has and allows (scontrol show partition): scontrol update JobId=JOB \
                 NumNodes=NUMBER",
            ),
        ),
        (
            "Partition",
            "Its Slurm partition is down, or the job exceeds a limit of its Slurm partition.",
            Some("The Slurm partition is Partition in: scontrol show job JOB"),
        ),
        (
            "ReqNodeNotAvail",
            "Nodes that it needs are down, drained, or reserved for maintenance or for others.",
            Some("The nodes and reservations: sinfo -R, scontrol show reservation"),
        ),
        ("ReservationDeleted", "Its advance reservation was deleted.", None),
        ("ReservationInvalid", "Its advance reservation is not valid.", None),
        ("Reservation", "Its advance reservation has not begun.", None),
        ("Licenses", "It waits for licences.", None),
        ("Priority", "Slurm has not come to it yet: other jobs have higher priorities.", None),
        ("Resources", "It waits for nodes.", None),
    ];

    const HELD: Self =
        Self { text: "It is held.", help: Some("It waits in line after: scontrol release JOB") };

    fn of(reason: &str) -> Option<Self> {
        let is_meant = |(name, _, _): &&(&str, &str, _)| reason.starts_with(name);
        let (_, text, help) = Self::ALL.iter().find(is_meant)?;
        Some(Self { text, help: *help })
    }

    fn advice(&self, job: &str, user: &str) -> Option<Sentence> {
        Some(Sentence::new("slurm", self.help?.replace("JOB", job).replace("USER", user)))
    }
}
