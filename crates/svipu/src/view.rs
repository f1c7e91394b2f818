//! The document with the options of the command line: what each command shows.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::Serialize;
use vipu_status::{Job, Model, Partition, Status, WaitingJob};

use crate::arguments::{Common, When};
use crate::document;
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::selection::Selection;
use crate::surroundings::Surroundings;

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
    /// The names of users so far. A host may ask a server for each name.
    names: RefCell<HashMap<u32, String>>,
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
        common: &'a Common,
        surroundings: &'a Surroundings,
    ) -> Result<Self, Failure> {
        let selection = Selection::new(all, common, surroundings)?;
        Ok(Self {
            chosen: selection.apply(all.clone()),
            all,
            selection,
            common,
            surroundings,
            names: RefCell::default(),
        })
    }

    /// Whether the page has the age and the heads of columns.
    pub(crate) fn has_header(&self) -> bool {
        !self.common.json && !self.common.noheader
    }

    /// The line for standard error if the options choose a user, and the document hides owners.
    pub(crate) fn hidden(&self) -> String {
        let partitions = self.all.partitions.iter().filter(|entry| entry.job.is_none()).count();
        let hidden = partitions + self.all.line.iter().filter(|entry| entry.job.is_none()).count();
        match hidden > 0 && self.selection.has_user() {
            true => {
                format!("svipu: the document hides the owners of {hidden} jobs, so that they are left out\n")
            }
            false => String::new(),
        }
    }

    /// A page, which begins with the age.
    pub(crate) fn page(&self) -> Page {
        let mut page = blank_page(self.common, self.surroundings);
        if self.has_header() {
            page.toned(&[(Tone::Dim, &document::age(self.all, self.surroundings.now))]);
        }
        page
    }

    /// A part of the document as JSON, with its time.
    pub(crate) fn json(&self, part: Part<'_>) -> Result<String, Failure> {
        let dated = Dated { schema: self.all.schema, written: self.all.written, part };
        Ok(serde_json::to_string_pretty(&dated)? + "\n")
    }

    /// The name of a job's user. The number, if the host does not know the name.
    pub(crate) fn user(&self, job: Option<&Job>) -> String {
        let Some(job) = job else { return "-".to_owned() };
        let ask = || self.surroundings.users.name(job.user).unwrap_or_else(|| job.user.to_string());
        self.names.borrow_mut().entry(job.user).or_insert_with(ask).clone()
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
    let colour = match common.color {
        When::Always => true,
        When::Never => false,
        When::Auto => surroundings.terminal && surroundings.variable("NO_COLOR").is_none(),
    };
    Page::new(colour, surroundings.utf8())
}
