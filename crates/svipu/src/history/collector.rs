//! Puts the lines of the audit log together, partition by partition.

use std::cell::Cell;
use std::collections::HashMap;

use vipu_status::{AuditLine, Job};

use super::record::{FailedCalls, Freed, History, Log, Of};
use crate::selection::Selection;

/// The kinds of failed calls of a partition that are told apart.
const MOST_KINDS: usize = 12;

/// The model, the controller and the id of a partition.
type Key = (String, String, String);

/// The histories so far. Lines come in the order of their times.
pub(super) struct Collector<'a> {
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
    pub(super) fn new(of: &'a Of, selection: &'a Selection) -> Self {
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
    pub(super) fn may_want(&self, text: &str) -> bool {
        let (marks, member) = &self.marks;
        self.is_first.replace(false)
            || marks.iter().any(|mark| text.contains(mark))
            || !self.histories.is_empty() && !text.contains(member)
    }

    pub(super) fn take(&mut self, line: AuditLine) {
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

    pub(super) fn log(mut self) -> Log {
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
