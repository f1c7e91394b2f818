//! The history of partitions, from the audit log.

mod collector;
pub(crate) mod past;
pub(crate) mod record;

use vipu_status_reader::NoAuditLog;

use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::view::View;
use crate::{names, safe};

use collector::Collector;
use record::{Freed, History, Log, Of};

/// Reads the history of these partitions, as far as the options choose them.
pub(crate) fn read(view: &View<'_>, of: &Of) -> Result<Log, NoAuditLog> {
    let source = view.source.ok_or(NoAuditLog::Elsewhere)?;
    let collector = std::cell::RefCell::new(Collector::new(of, &view.selection));
    source.audit_log(|text| collector.borrow().may_want(text), |line| collector.borrow_mut().take(line))?;
    Ok(collector.into_inner().log())
}

/// The answer about a name that the document does not have: nothing, if the log has it. Otherwise the error tells
/// more about the log.
pub(crate) fn only<T: Default>(unknown: Failure, log: &Result<Log, NoAuditLog>) -> Result<T, Failure> {
    match log {
        Ok(log) if log.histories.is_empty() => Err(unknown.with("the audit log does not name it either")),
        Ok(_) => Ok(T::default()),
        Err(why) => Err(unknown.with(&words(why))),
    }
}

/// The reason why there is no history.
fn words(why: &NoAuditLog) -> String {
    let readers = "which only root, SlurmUser and the group in StatusGroup can read";
    match why {
        NoAuditLog::Elsewhere => {
            format!("past jobs are in the audit log in StateSaveLocation (--status), {readers}")
        }
        NoAuditLog::Forbidden => format!("past jobs are in the audit log, {readers}"),
        NoAuditLog::Missing => {
            "past jobs are not known: StateSaveLocation has no file of the audit log; AuditLevel and AuditTo in \
             vipu.conf decide that"
                .to_owned()
        }
        NoAuditLog::Broken(why) => format!("past jobs are not known: cannot read the audit log: {why}"),
    }
}

/// Adds the reason why there is no history.
pub(crate) fn add_hint(page: &mut Page, why: &NoAuditLog) {
    let words = words(why);
    let (first, others) = words.split_at(1);
    page.line("");
    page.paragraph(&format!("{}{others}.", first.to_ascii_uppercase()));
}

/// Adds the history of each partition, or the reason why there is none.
pub(crate) fn add(page: &mut Page, view: &View<'_>, log: &Result<Log, NoAuditLog>) {
    match log {
        Ok(log) => log.histories.iter().for_each(|history| add_one(page, view, history)),
        Err(why) => add_hint(page, why),
    }
}

fn add_one(page: &mut Page, view: &View<'_>, history: &History) {
    let name = safe::cut(&history.partition, 60);
    page.toned(&[(Tone::Bold, &format!("history of partition {name}"))]);
    let number = |number: Option<u32>| names::or_dash(number.map(|it| it.to_string()).as_deref());
    let failures = history.failures.iter();
    let failures: Vec<_> =
        failures.map(|it| format!("{} {} ({})", it.call, it.outcome, times(it.count))).collect();
    let after = |at: Option<i64>, seconds: Option<f64>, call: &str| match seconds {
        Some(seconds) => format!("{} ({seconds:.1} s after {call})", view.time_if_known(at)),
        None => view.time_if_known(at),
    };
    let removal = match (history.removal, &history.freed) {
        (Some(at), _) => format!("{} ({})", view.time(at), reason(view, history)),
        (None, Some(freed)) => requested(view, freed),
        (None, None) => "-".to_owned(),
    };
    let mut rows = vec![
        ("job", number(history.job)),
        ("user", history.user.map_or_else(|| "-".to_owned(), |id| view.user_name(id))),
        ("IPUs", number(history.ipus)),
        ("model", history.model.clone()),
        ("controller", history.controller.clone()),
        ("reused after", history.before.map(|job| format!("job {job}")).unwrap_or_default()),
        ("asked for", view.time_if_known(history.asked)),
        ("ready", after(history.ready, history.making, "it was asked for")),
        ("failed calls", failures.join(", ")),
        ("idle", history.idle.map(|at| view.time(at)).unwrap_or_default()),
        ("removal", removal),
        ("gone", after(history.gone, history.removing, "the first call")),
    ];
    // An idle partition that is not removed is idle now, or another job's.
    let stays = history.idle.is_some() && history.removal.is_none();
    rows.retain(|(name, value)| !(value.is_empty() || stays && matches!(*name, "removal" | "gone")));
    page.fields(&rows);
    if let (Some(time), Some(share)) = (history.time(), history.share) {
        let (took, percent) = (history.making_and_removing(), share * 100.0);
        let what = if history.idle.is_some() { "Making" } else { "Making and removing" };
        page.line(&format!("  {what} the partition took {took:.1} s of {time:.0} s ({percent:.1} %)."));
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The reason for the removal.
fn reason(view: &View<'_>, history: &History) -> String {
    match (&history.freed, history.removal_why.as_deref(), history.ready) {
        (Some(freed), _, _) => requested(view, freed),
        _ if history.idle.is_some() => "it was idle".to_owned(),
        (None, Some("no job"), _) => "it had no job".to_owned(),
        (None, _, None) => "it was not ready".to_owned(),
        _ => "its job needed it no longer".to_owned(),
    }
}

/// The request that had the partition removed. Users are numbers in the audit log.
fn requested(view: &View<'_>, Freed { by, reason }: &Freed) -> String {
    let name = |by: &str| by.parse().map_or_else(|_| by.to_owned(), |id| view.user_name(id));
    let by = safe::cut(&by.as_deref().map_or_else(|| "a request".to_owned(), name), 30);
    match reason {
        Some(reason) => format!("freed by {by}: {}", safe::cut(reason, 60)),
        None => format!("freed by {by}"),
    }
}
