//! The document with the options of the command line: what each command shows.

use serde::Serialize;
use vipu_status::{Job, Model, Partition, Status, WaitingJob};

use crate::arguments::Common;
use crate::error::Failure;
use crate::history::record::{History, Totals};
use crate::other_partitions::OtherPartition;
use crate::page::{Page, Tone};
use crate::read_document::Source;
use crate::surroundings::Surroundings;
use crate::{find_document, names, safe};

/// The line of a document without models.
pub(crate) const NO_MODEL: &str = "There is no Pod model: vipu.conf names none that is in force.";

/// What a command shows, and how.
pub(crate) struct View<'a> {
    /// The part of the document that the options choose.
    pub(crate) chosen: Status,
    /// The whole document.
    pub(crate) all: &'a Status,
    /// The options that choose.
    pub(crate) selection: Selection,
    pub(crate) common: &'a Common,
    pub(crate) surroundings: &'a Surroundings,
    /// The place of the document, for the audit log beside it. None on a live screen.
    pub(crate) source: Option<&'a Source>,
}

/// A part of the document as JSON. The members are named as in the document.
#[derive(Default, Serialize)]
pub(crate) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<&'a [Model]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partitions: Option<Vec<&'a Partition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<Vec<&'a WaitingJob>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_in_line: Option<Vec<&'a WaitingJob>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) others: Option<Vec<OtherPartition<'a>>>,
    /// From the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<Vec<&'a History>>,
    /// From the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) totals: Option<Totals>,
}

#[derive(Serialize)]
struct Dated<'a> {
    schema: u32,
    written: i64,
    #[serde(flatten)]
    part: Part<'a>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        all: &'a Status,
        source: &'a Source,
        common: &'a Common,
        surroundings: &'a Surroundings,
    ) -> Result<Self, Failure> {
        let view = Self::of(Selection::new(all, common, surroundings)?, all, common, surroundings);
        Ok(Self { source: Some(source), ..view })
    }

    /// The view of a selection.
    pub(crate) fn of(
        selection: Selection,
        all: &'a Status,
        common: &'a Common,
        surroundings: &'a Surroundings,
    ) -> Self {
        Self { chosen: selection.apply(all.clone()), all, selection, common, surroundings, source: None }
    }

    /// Whether the page has the age and the heads of columns.
    pub(crate) fn has_header(&self) -> bool {
        !self.common.json && !self.common.noheader
    }

    /// The warning if the options choose a user, and the document hides owners.
    pub(crate) fn hidden(&self) -> Option<String> {
        let partitions = self.all.partitions.iter().filter(|entry| entry.has_hidden_job()).count();
        let waiting = self.all.line.iter().chain(&self.all.not_in_line);
        let hidden = partitions + waiting.filter(|entry| entry.job.is_none()).count();
        (hidden > 0 && self.selection.user().is_some())
            .then(|| format!("the document hides the owners of {hidden} jobs, so that they are left out"))
    }

    /// A page, which begins with the age.
    pub(crate) fn page(&self) -> Page {
        let mut page = blank_page(self.common, self.surroundings);
        if self.has_header() {
            page.toned(&[(Tone::Dim, &find_document::age(self.all, self.surroundings.now))]);
        }
        page
    }

    /// A part of the document as JSON, with its time.
    pub(crate) fn json(&self, part: Part<'_>) -> Result<String, Failure> {
        let dated = Dated { schema: self.all.schema, written: self.all.written, part };
        Ok(serde_json::to_string_pretty(&dated)? + "\n")
    }

    /// The name of a job's user.
    pub(crate) fn user(&self, job: Option<&Job>) -> String {
        let Some(job) = job else { return "-".to_owned() };
        self.user_name(job.user)
    }

    /// The name of a user. The number, if the host does not know the name.
    pub(crate) fn user_name(&self, id: u32) -> String {
        self.surroundings.users.name(id).unwrap_or_else(|| id.to_string())
    }

    /// The owner of a partition or of a place in line, within a sentence.
    pub(crate) fn owner(&self, job: Option<&Job>) -> String {
        match job {
            None => "a job of another user".to_owned(),
            Some(_) => format!("job {} of {}", names::job(job), safe::cut(&self.user(job), 30)),
        }
    }

    /// A time to come, within a sentence.
    pub(crate) fn moment(&self, at: i64) -> String {
        let now = self.surroundings.now;
        match at <= now {
            true => "now".to_owned(),
            false => format!("at {}, in {}", self.time(at), crate::times::span(at.saturating_sub(now))),
        }
    }

    /// A time in words.
    pub(crate) fn time(&self, time: i64) -> String {
        crate::times::time(time, &self.surroundings.zone)
    }

    /// A time that may be unknown in words.
    pub(crate) fn time_if_known(&self, time: Option<i64>) -> String {
        crate::times::time_if_known(time, &self.surroundings.zone)
    }
}

/// An empty page, with colours as the options and the surroundings say.
pub(crate) fn blank_page(common: &Common, surroundings: &Surroundings) -> Page {
    Page::new(common.color.unwrap_or_default().are_used(surroundings), surroundings.utf8())
}

/// The model and the user that the options name.
pub(crate) struct Selection {
    model: Option<String>,
    user: Option<u32>,
}

impl Selection {
    pub(crate) fn new(
        status: &Status,
        common: &Common,
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        if let Some(model) = &common.model
            && !status.models.iter().any(|known| known.name == *model)
        {
            let known: Vec<_> = status.models.iter().map(|model| model.name.clone()).collect();
            let kind = if common.model_is_configured { "model in svipu.toml:" } else { "model" };
            return Err(Failure::unknown(kind, model, &known));
        }
        let user = match (&common.user, common.me) {
            (_, true) => Some(surroundings.user),
            (Some(user), _) => Some(user_id(user, surroundings)?),
            (None, false) => None,
        };
        Ok(Self { model: common.model.clone(), user })
    }

    /// The jobs of a user, or of all users.
    pub(crate) fn of_user(user: Option<u32>) -> Self {
        Self { model: None, user }
    }

    /// The user that the options name.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// Leaves out what the options do not name.
    pub(crate) fn apply(&self, mut status: Status) -> Status {
        status.models.retain(|model| self.has_model(&model.name));
        status
            .partitions
            .retain(|entry| self.has_model(&entry.model) && self.has_owner(entry.job.as_deref()));
        for jobs in [&mut status.line, &mut status.not_in_line] {
            jobs.retain(|entry| self.has_model(&entry.model) && self.has_owner(entry.job.as_deref()));
        }
        status
    }

    /// Whether the options choose the jobs of this owner. A hidden owner is nobody's.
    pub(crate) fn has_owner(&self, job: Option<&Job>) -> bool {
        self.user.is_none_or(|user| job.is_some_and(|job| job.user == user))
    }

    /// Whether the options choose this model.
    pub(crate) fn has_model(&self, name: &str) -> bool {
        self.model.as_ref().is_none_or(|model| model == name)
    }
}

fn user_id(user: &str, surroundings: &Surroundings) -> Result<u32, Failure> {
    let id = surroundings.users.id(user).or_else(|| user.parse().ok());
    id.ok_or_else(|| Failure::Unknown {
        kind: "user",
        name: crate::safe::cut(user, 40),
        known: "give a name that this host knows, or a number".to_owned(),
    })
}
