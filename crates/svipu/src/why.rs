//! `svipu why`: the causes for which a job waits, and what would help, in whole sentences.

mod advice;
mod ahead;
mod held;
mod limits;
mod not_in_line;
mod room;
pub(crate) mod sentence;
pub(crate) mod stops;
mod waiting;

use vipu_forecast::Start;
use vipu_status::{Partition, WaitingJob};

use crate::error::Failure;
use crate::history::{self, record::Of};
use crate::job::{self, Found};
use crate::page::Tone;
use crate::view::View;
use crate::{names, safe};
use sentence::{Answer, Sentence, capital};
use waiting::Waiting;

/// The page of the command.
pub(crate) fn show(view: &View<'_>, id: &str) -> Result<String, Failure> {
    let found = job::find(view, id).map_err(|unknown| match ended(view, id) {
        Some(clause) => unknown.with(&clause),
        None => unknown,
    });
    let Found { partitions, waiting, not_in_line, one_of } = found?;
    let mut answers: Vec<_> = partitions.iter().map(|partition| held::answer(view, partition)).collect();
    answers.extend(waiting.iter().map(|row| answer(view, row)));
    answers.extend(not_in_line.iter().map(|row| not_in_line::answer(view, row)));
    for answer in &mut answers {
        answer.causes.extend(one_of.clone().map(|text| Sentence::new("one_of_tasks", text)));
    }
    if view.common.json {
        return Ok(serde_json::to_string_pretty(&answers)? + "\n");
    }
    let mut page = view.page();
    for (number, answer) in answers.iter().enumerate() {
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
        causes.push(stops::no_model(view, row));
        return Answer { job, summary: wants, causes, advice: Vec::new() };
    };
    let waiting = Waiting::new(view, row, model);
    causes.extend(stops::causes(view, model, waiting.now));
    causes.extend(limits::causes(&waiting));
    causes.extend(room::causes(&waiting));
    causes.extend(ahead::causes(&waiting));
    causes.extend(room::planned_block(&waiting));
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
    Some(Sentence::new("reason", format!("squeue showed: {}", safe::cut(text, 300))))
}

/// The expected start.
fn expected(waiting: &Waiting<'_>) -> String {
    if waiting.lacks_only_nodes() {
        return format!("A block of {} is free now.", names::ipus(waiting.row.size));
    }
    let (Some(Start { controller, places, .. }), Some(at)) = (waiting.start(), waiting.row.start) else {
        return "It is unknown when it can have them.".to_owned();
    };
    let places =
        if places.is_empty() { String::new() } else { format!(", places {}", names::places(&places)) };
    format!(
        "It can have its IPUs {} (controller {}{places}), if all jobs before it use their whole time limits.",
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
