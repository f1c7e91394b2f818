//! The history of partitions, from the audit log.

pub(crate) mod record;

use std::cell::Cell;
use std::collections::HashMap;

use vipu_status::{AuditLine, Job};

use crate::audit_log::{self, NoAuditLog};
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::table::Column;
use crate::table::list;
use crate::view::{Selection, View};
use crate::{names, safe, times};
use record::{FailedCalls, Freed, History, Log, Of, Totals};

/// Reads the history of these partitions, as far as the options choose them.
pub(crate) fn read(view: &View<'_>, of: &Of) -> Result<Log, NoAuditLog> {
    let source = view.source.ok_or(NoAuditLog::Elsewhere)?;
    let collector = std::cell::RefCell::new(Collector::new(of, &view.selection));
    let file = audit_log::file(source, &view.all.writer.cluster, view.surroundings)?;
    let wanted = |text: &str| collector.borrow().may_want(text);
    audit_log::read(&file, wanted, |line| collector.borrow_mut().take(line))?;
    let mut log = collector.into_inner().log();
    if view.common.json {
        log.histories.iter_mut().for_each(|it| it.user_name = it.user.map(|user| view.user_name(user)));
    }
    Ok(log)
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

/// Adds the history of each partition, or the reason why there is none. Users who may not read the log need no word of
/// it under each job.
pub(crate) fn add(page: &mut Page, view: &View<'_>, log: &Result<Log, NoAuditLog>) {
    match log {
        Ok(log) => log.histories.iter().for_each(|history| add_one(page, view, history)),
        Err(NoAuditLog::Elsewhere | NoAuditLog::Forbidden) => {}
        // A live screen shows no past jobs.
        Err(_) if view.source.is_none() => {}
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
        ("job", names::or_dash(history.job.map(|id| job_name(view, id)).as_deref())),
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

/// The name of a job. The audit log has its id, and the document has the job as long as Slurm has it.
fn job_name(view: &View<'_>, id: u32) -> String {
    let all = view.all;
    let waiting = all.line.iter().chain(&all.not_in_line).filter_map(|row| row.job.as_deref());
    let mut jobs = all.partitions.iter().filter_map(|entry| entry.job.as_deref()).chain(waiting);
    jobs.find(|job| job.id == id).map_or_else(|| id.to_string(), names::job_with_id)
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

/// The partitions that are shown.
pub(crate) const MOST_PAST: usize = 10;

type Shown = Column<History>;

const COLUMNS: &[Column<History>] = &[
    Shown::new("job", "JOB", 12, |row, _| names::or_dash(row.job.map(|job| job.to_string()).as_deref())),
    Shown::new("id", "ID", 36, |row, _| row.partition.clone()),
    Shown::new("model", "MODEL", 16, |row, _| row.model.clone()),
    Shown::new("size", "IPUS", 10, |row, _| names::or_dash(row.ipus.map(|ipus| ipus.to_string()).as_deref()))
        .on_the_right(),
    Shown::new("asked", "ASKED_FOR", 19, |row, view| view.time_if_known(row.asked)),
    Shown::new("time", "TIME", 14, |row, _| time(row)).on_the_right(),
    Shown::new("making", "MAKING", 10, |row, _| seconds(row.making)).on_the_right(),
    Shown::new("removing", "REMOVING", 10, |row, _| seconds(row.removing)).on_the_right(),
];

fn time(row: &History) -> String {
    let known =
        row.asked.zip(row.end()).and_then(|(asked, end)| u64::try_from(end.saturating_sub(asked)).ok());
    known.map_or_else(|| "-".to_owned(), times::limit)
}

fn seconds(known: Option<f64>) -> String {
    known.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1} s"))
}

/// The partitions that their jobs no longer have, or that the document does not have, the latest first.
pub(crate) fn past_of<'a>(view: &View<'_>, log: &'a Log) -> Vec<&'a History> {
    let current: std::collections::HashSet<_> =
        view.all.partitions.iter().map(|it| (&*it.model, &*it.controller, it.id.as_deref())).collect();
    let is_past = |it: &&History| {
        it.end().is_some() || !current.contains(&(&*it.model, &*it.controller, Some(&*it.partition)))
    };
    log.histories.iter().rev().filter(is_past).collect()
}

/// Adds the latest past partitions and the sums.
pub(crate) fn add_past(
    page: &mut Page,
    view: &View<'_>,
    log: &Log,
    past: &[&History],
    name: &str,
) -> Result<(), Failure> {
    let latest = &past[..past.len().min(MOST_PAST)];
    list(page, view, "latest past partitions", COLUMNS, latest, "job ID")?;
    let totals = Totals::of(past);
    page.line("");
    let since = view.time_if_known(log.since);
    let partitions = match totals.partitions {
        0 => "no past partition".to_owned(),
        1 => "1 past partition".to_owned(),
        several => format!("{several} past partitions"),
    };
    let mut words = format!("The audit log since {since} names {partitions} of {name}");
    if totals.time > 0.0 {
        let percent = totals.making_and_removing / totals.time * 100.0;
        words += &format!(
            ": {:.1} IPU hours; making and removing took {percent:.1} % of the time",
            totals.ipu_hours
        );
    }
    page.paragraph(&(words + "."));
    Ok(())
}

/// The kinds of failed calls of a partition that are told apart.
const MOST_KINDS: usize = 12;

/// The model, the controller and the id of a partition.
type Key = (String, String, String);

/// The histories so far. Lines come in the order of their times.
struct Collector<'a> {
    of: &'a Of,
    selection: &'a Selection,
    /// A text in each line that is wanted, and the name of the member that it is about.
    marks: (Vec<String>, &'static str),
    is_first: Cell<bool>,
    since: Option<i64>,
    histories: Vec<History>,
    /// The history of the last job of each partition, if it is wanted.
    last: HashMap<Key, usize>,
}

impl<'a> Collector<'a> {
    fn new(of: &'a Of, selection: &'a Selection) -> Self {
        let marks = match of {
            Of::Jobs(ids) => {
                let members = |id| [format!("\"job\":{id},"), format!("\"before\":{id},")];
                (ids.iter().flat_map(members).collect(), "\"job\":")
            }
            Of::Partition(id) => (vec![serde_json::Value::from(id.as_str()).to_string()], "\"partition\":"),
            Of::Selected => {
                (selection.user().iter().map(|id| format!("\"user\":{id},")).collect(), "\"user\":")
            }
        };
        let (histories, last) = (Vec::new(), HashMap::new());
        Self { of, selection, marks, is_first: Cell::new(true), since: None, histories, last }
    }

    /// Whether a line can be wanted, by its text: parsing all lines would take longer. The first line tells the age
    /// of the log. A line without a job can belong to a partition whose job an earlier line tells.
    fn may_want(&self, text: &str) -> bool {
        let (marks, member) = &self.marks;
        self.is_first.replace(false)
            || marks.iter().any(|mark| text.contains(mark))
            || !self.histories.is_empty() && !text.contains(member)
    }

    fn take(&mut self, line: AuditLine) {
        self.since.get_or_insert(line.at);
        if line.what == "free" {
            return self.freed(line);
        }
        let AuditLine {
            model: Some(model), controller: Some(controller), partition: Some(partition), ..
        } = &line
        else {
            return;
        };
        let key = (model.clone(), controller.clone(), partition.clone());
        let begins = matches!(&*line.what, "create" | "ready" | "reuse");
        let known = self.last.get(&key).copied().filter(|known| {
            let history = &self.histories[*known];
            let is_same = line.job.is_none() || history.job.is_none() || line.job == history.job;
            is_same && !(begins && history.end().is_some())
        });
        let place = match known {
            Some(place) => place,
            None if self.is_wanted(&line) => {
                let (model, controller, partition) = key.clone();
                self.histories.push(History { partition, model, controller, ..History::default() });
                self.last.insert(key, self.histories.len() - 1);
                self.histories.len() - 1
            }
            None => {
                self.last.remove(&key);
                return;
            }
        };
        self.histories[place].take(line);
    }

    /// Takes a request for a partition. It names the id alone, and refers to a partition that is not gone.
    fn freed(&mut self, line: AuditLine) {
        let last = self.last.iter().filter(|((_, _, id), _)| Some(id) == line.target.as_ref());
        let there = last.map(|(_, place)| *place).filter(|place| self.histories[*place].gone.is_none());
        if line.outcome == "ok"
            && let Some(place) = there.max()
        {
            self.histories[place].freed = Some(Freed { by: line.by, reason: line.why });
        }
    }

    fn is_wanted(&self, line: &AuditLine) -> bool {
        let is_meant = match self.of {
            Of::Jobs(ids) => line.job.is_some_and(|job| ids.contains(&job)),
            Of::Partition(id) => line.partition.as_ref() == Some(id),
            Of::Selected => true,
        };
        let owner = line.user.map(|user| Job { user, ..Job::default() });
        let has_model = line.model.as_ref().is_none_or(|model| self.selection.has_model(model));
        is_meant && has_model && self.selection.has_owner(owner.as_ref())
    }

    fn log(mut self) -> Log {
        for history in &mut self.histories {
            let known = history.making.and(history.time()).filter(|time| *time > 0.0);
            history.share = known.map(|time| history.making_and_removing() / time);
        }
        Log { since: self.since, histories: self.histories }
    }
}

impl History {
    fn take(&mut self, line: AuditLine) {
        self.job = self.job.or(line.job);
        self.user = self.user.or(line.user);
        self.ipus = self.ipus.or(line.ipus);
        let seconds = line.seconds.max(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "a wrong number gives a wrong time")]
        let began = line.at.saturating_sub(seconds.round() as i64);
        let is_ok = line.outcome == "ok";
        match &*line.what {
            "create" => _ = self.asked.get_or_insert(began),
            "ready" => {
                self.asked.get_or_insert(began);
                (self.ready, self.making) = (Some(line.at), Some(since(self.asked, line.at, seconds)));
            }
            "reuse" => {
                self.before = line.before;
                self.asked.get_or_insert(began);
                (self.ready, self.making) = (Some(line.at), Some(seconds));
            }
            "idle" => self.idle = Some(line.at),
            "remove" if self.removal.is_none() => {
                (self.removal, self.removal_why) = (Some(began), line.why);
            }
            "gone" => {
                (self.gone, self.removing) = (Some(line.at), Some(since(self.removal, line.at, seconds)));
            }
            _ => {}
        }
        if !is_ok {
            self.fail(line.what, line.outcome);
        }
    }

    fn fail(&mut self, call: String, outcome: String) {
        let mut known = self.failures.iter_mut();
        if let Some(known) = known.find(|known| known.call == call && known.outcome == outcome) {
            known.count += 1;
        } else if self.failures.len() < MOST_KINDS {
            self.failures.push(FailedCalls { call, outcome, count: 1 });
        }
    }
}

/// The seconds since the first call, as the line tells them. slurmctld forgets earlier calls when it is restarted:
/// then the times of the lines tell more.
fn since(first: Option<i64>, at: i64, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a time of more than 2^53 seconds is wrong anyhow")]
    let by_lines = first.map_or(0.0, |first| at.saturating_sub(first) as f64);
    // Times are whole seconds.
    if by_lines > seconds + 2.0 { by_lines } else { seconds }
}
