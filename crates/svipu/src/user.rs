//! `svipu user`: the partitions, the waiting jobs and the past jobs of a user.

use std::collections::BTreeMap;

use crate::error::Failure;
use crate::history::record::{Of, Totals};
use crate::ipu_use::Use;
use crate::page::Page;
use crate::table::list;
use crate::view::{Part, View};
use crate::{history, job_queue, names, partition, safe};

/// The jobs that are named.
const MOST_NAMED: usize = 5;

/// The page of the command. The options already choose the user.
pub(crate) fn show(view: &View<'_>, name: Option<&str>) -> Result<String, Failure> {
    let partitions: Vec<_> = view.chosen.partitions.iter().collect();
    let waiting: Vec<_> = view.chosen.line.iter().collect();
    let log = history::read(view, &Of::Selected);
    let past = log.as_ref().ok().map(|log| history::past_of(view, log));
    if view.common.json {
        let totals = past.as_deref().map(Totals::of);
        let (partitions, line) = (Some(partitions), Some(waiting));
        let history = past.map(|past| past.into_iter().take(history::MOST_PAST).collect());
        return view.json(Part { partitions, line, history, totals, ..Part::default() });
    }
    let mut page = view.page();
    let owner = partitions.iter().find_map(|entry| entry.job.as_deref());
    let owner = owner.or_else(|| waiting.iter().find_map(|row| row.job.as_deref()));
    let given = || name.map_or_else(|| view.user_name(view.surroundings.user), str::to_owned);
    let name = safe::cut(&owner.map_or_else(given, |job| view.user(Some(job))), 40);
    held(&mut page, view, &name);
    line(&mut page, view, &name);
    not_in_line(&mut page, view, &name);
    list(&mut page, view, "partitions", partition::COLUMNS, &partitions, &format!("partitions -u {name}"))?;
    list(&mut page, view, "waiting jobs", job_queue::COLUMNS, &waiting, &format!("queue -u {name}"))?;
    match &log {
        Ok(log) => history::add_past(&mut page, view, log, &past.unwrap_or_default(), &name)?,
        Err(why) => history::add_hint(&mut page, why),
    }
    Ok(page.finish())
}

/// Adds the IPUs of the user on each model, by use.
fn held(page: &mut Page, view: &View<'_>, name: &str) {
    let mut models: BTreeMap<&str, [u64; Use::ALL.len()]> = BTreeMap::new();
    for partition in &view.chosen.partitions {
        let counts = models.entry(&partition.model).or_default();
        let kind = Use::of(partition.state);
        let known = Use::ALL.iter().zip(counts).filter(|(other, _)| **other == kind);
        known.for_each(|(_, count)| *count += u64::from(partition.size));
    }
    for (model, counts) in &models {
        let total: u64 = counts.iter().sum();
        let by_use = Use::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        let words: Vec<_> = by_use.map(|(kind, count)| format!("{count} {}", kind.name().0)).collect();
        let ipus = names::ipus(u32::try_from(total).unwrap_or(u32::MAX));
        page.paragraph(&format!("{name} has {ipus} of {}: {}.", safe::cut(model, 30), words.join(", ")));
    }
    if models.is_empty() {
        page.line(&format!("The document names no IPUs of {name}."));
    }
}

/// Adds the number of waiting jobs and the next start.
fn line(page: &mut Page, view: &View<'_>, name: &str) {
    let waiting = &view.chosen.line;
    if waiting.is_empty() {
        return page.line(&format!("The document names no waiting job of {name}."));
    }
    let jobs =
        if waiting.len() == 1 { "1 job waits".to_owned() } else { format!("{} jobs wait", waiting.len()) };
    let next = waiting.iter().filter_map(|row| Some((row.start?, row))).min_by_key(|(at, _)| *at);
    let next = match next {
        None => "It is unknown when the next one can start.".to_owned(),
        Some((at, row)) => {
            let job = names::job(row.job.as_deref());
            format!("The next one, job {job}, can have its {} {}.", names::ipus(row.size), view.moment(at))
        }
    };
    page.paragraph(&format!("{jobs} for IPUs. {next}"));
}

/// Adds the jobs that wait for something else than IPUs.
fn not_in_line(page: &mut Page, view: &View<'_>, name: &str) {
    let jobs: Vec<_> = view.chosen.not_in_line.iter().map(|row| names::job(row.job.as_deref())).collect();
    if !jobs.is_empty() {
        let more = if jobs.len() > MOST_NAMED { ", ..." } else { "" };
        let some = jobs[..jobs.len().min(MOST_NAMED)].join(", ");
        page.paragraph(&format!(
            "Jobs of {name} that want IPUs, but wait for something else first: {some}{more}. `svipu why JOB` tells more, \
             and `svipu limits {name}` the limits of Slurm's accounting."
        ));
    }
}
