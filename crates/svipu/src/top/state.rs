//! The state of the screen. Documents, the time and keys change it.

use std::time::Duration;

use vipu_status::{Job, Model, Pod, Status};
use vipu_types::Words;

use super::keys::Mode;
use super::lists::{Order, Row};
use super::picture::{self, Note, Picture};
use crate::arguments::Common;
use crate::page::Colours;
use crate::view::{Selection, View};
use crate::{Arguments, Output, Surroundings, job, why};

/// The time from which a read is said to hang.
const LONG: Duration = Duration::from_secs(3);

/// The state of the live screen.
pub struct Top {
    pub(super) common: Common,
    pub(super) surroundings: Surroundings,
    /// The last good document.
    pub(super) status: Status,
    /// The reason why the newest document cannot be read.
    failure: Option<Words>,
    /// The time for which the read of a newer document has not ended.
    reading: Option<Duration>,
    pub(super) user: Option<u32>,
    /// The model and the controller of the Pod that is shown.
    pod: (String, String),
    pub(super) picture: Picture,
    pub(super) lists: [List; 2],
    /// The list that is shown.
    pub(super) active: usize,
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) paused: bool,
}

/// What the program does after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    Stay,
    /// It stops until the shell continues it.
    Suspend,
    /// It ends.
    Quit,
}

/// The user's way through a list.
#[derive(Default)]
pub(super) struct List {
    pub(super) order: Order,
    /// The rows of the table that are shown.
    pub(super) shown: Vec<usize>,
    /// The chosen one of the shown rows, and the first one on the screen.
    pub(super) cursor: usize,
    pub(super) first: usize,
    /// The rows that the screen has room for.
    pub(super) room: usize,
}

impl Top {
    /// The state at the start.
    ///
    /// # Errors
    /// The output of a command line that names an unknown model or user.
    pub fn new(arguments: &Arguments, surroundings: Surroundings, status: Status) -> Result<Self, Output> {
        let common = arguments.common.clone();
        let selection = Selection::new(&status, &common, &surroundings);
        let selection = selection.map_err(|failure| Output::of(&failure, surroundings.utf8()))?;
        let mut top = Self {
            user: selection.user(),
            pod: (common.model.clone().unwrap_or_default(), String::new()),
            common,
            surroundings,
            status,
            failure: None,
            reading: None,
            picture: Picture::default(),
            lists: Default::default(),
            active: 0,
            filter: String::new(),
            mode: Mode::List,
            paused: false,
        };
        top.refresh();
        Ok(top)
    }

    /// Takes a new document, or the reason why it cannot be read. The screen then keeps the last good one.
    pub fn document(&mut self, read: Result<Status, Words>) {
        match read {
            Ok(status) => (self.status, self.failure) = (status, None),
            Err(why) => self.failure = Some(why),
        }
        self.refresh();
    }

    /// Takes the time for which the read of a newer document has not ended.
    pub fn reading(&mut self, time: Option<Duration>) {
        self.reading = time;
    }

    /// Takes the time.
    pub fn tick(&mut self, now: i64) {
        self.surroundings.now = now;
        self.refresh();
    }

    /// Whether the user holds the screen still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The jobs that are known, of partitions and in line.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        let partitions = self.status.partitions.iter().filter_map(|entry| entry.job.as_deref());
        partitions.chain(self.status.line.iter().filter_map(|entry| entry.job.as_deref()))
    }

    /// The Pods of all models.
    pub(super) fn pods(&self) -> Vec<(&Model, &Pod)> {
        self.status.models.iter().flat_map(|model| model.pods.iter().map(move |pod| (model, pod))).collect()
    }

    /// The number of the Pod that is shown: the chosen one, another one of its model, or the first one.
    pub(super) fn pod(&self) -> usize {
        let (model, controller) = &self.pod;
        let pods = self.pods();
        let exact = pods.iter().position(|(it, pod)| it.name == *model && pod.controller == *controller);
        exact.or_else(|| pods.iter().position(|(it, _)| it.name == *model)).unwrap_or(0)
    }

    /// Shows the Pod that is so many behind the one that is shown.
    pub(super) fn step_pod(&mut self, steps: isize) {
        let pods = self.pods();
        let Ok(count) = isize::try_from(pods.len()) else { return };
        let place = isize::try_from(self.pod()).unwrap_or(0) + steps;
        let chosen = place.checked_rem_euclid(count).and_then(|place| pods.get(usize::try_from(place).ok()?));
        if let Some((model, pod)) = chosen {
            self.pod = (model.name.clone(), pod.controller.clone());
            self.refresh();
        }
    }

    /// The lines above the map.
    pub(super) fn notes(&self) -> Vec<Note> {
        let now = (!self.paused).then_some(self.surroundings.now);
        let hangs = self.reading.filter(|time| *time >= LONG && !self.paused).map(picture::hanging_read);
        let failure = hangs.as_deref().or(self.failure.as_deref());
        let mut notes = picture::document_notes(&self.status, failure, now);
        notes.extend_from_slice(&self.picture.notes);
        notes
    }

    /// Computes the picture anew.
    pub(super) fn refresh(&mut self) {
        self.surroundings.users.learn(self.jobs().map(|job| job.user));
        let selection = Selection::of_user(self.user);
        let view = View::of(selection, &self.status, &self.common, &self.surroundings);
        let pod = self.pods().get(self.pod()).copied();
        self.picture = pod.map_or_else(Picture::default, |pod| Picture::new(&view, &self.status, pod));
        self.arrange();
    }

    /// The chosen row of the list that is shown.
    pub(super) fn chosen_row(&self) -> Option<&Row> {
        let list = &self.lists[self.active];
        self.picture.lists[self.active].rows.get(*list.shown.get(list.cursor)?)
    }

    /// What `svipu why` and `svipu job` tell about a job.
    pub(super) fn details(&self, job: &str) -> String {
        let mut common = self.common.clone();
        (common.color, common.noheader) = (Some(Colours::Never), true);
        let view = View::of(Selection::of_user(None), &self.status, &common, &self.surroundings);
        let told =
            why::show(&view, Some(job)).and_then(|why| Ok(format!("{why}\n{}", job::show(&view, job)?)));
        told.unwrap_or_else(|failure| failure.to_string())
    }

    /// Filters and sorts the lists anew.
    pub(super) fn arrange(&mut self) {
        let filter = self.filter.to_lowercase();
        for (list, table) in self.lists.iter_mut().zip(&self.picture.lists) {
            list.shown = table.arranged(&filter, list.order);
            list.cursor = list.cursor.min(list.shown.len().saturating_sub(1));
        }
    }
}

impl List {
    /// Moves the cursor, at most to an end of the list.
    pub(super) fn step(&mut self, steps: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(steps).min(last);
    }

    /// The shown rows that the screen has room for, with their places. The cursor is among them.
    pub(super) fn on_screen(&mut self, room: usize) -> impl Iterator<Item = (usize, usize)> {
        self.room = room;
        let end = self.shown.len().saturating_sub(room);
        let lowest = (self.cursor + 1).saturating_sub(room);
        self.first = self.first.clamp(lowest.min(self.cursor), self.cursor).min(end);
        self.shown.iter().copied().enumerate().skip(self.first).take(room)
    }
}
