//! The keys, which are those of htop where they fit.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::lists::Order;
use super::state::{Next, Top};

/// The greatest length of a text that is searched for.
const MOST_TEXT: usize = 40;

/// What the keys act on.
pub(super) enum Mode {
    List,
    Help,
    /// All about this job, from this line on.
    Details {
        job: String,
        first: u16,
    },
    /// The text that is searched for.
    Search(String),
    /// The filter before this one, which Esc brings back.
    Filter {
        before: String,
    },
    Menu(Menu),
}

/// A menu beside the list.
pub(super) struct Menu {
    pub(super) title: &'static str,
    pub(super) entries: Vec<(String, Choice)>,
    pub(super) cursor: usize,
}

/// The effect of an entry of a menu.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Sort by this column, or not at all.
    Column(Option<usize>),
    /// Show the jobs of this user, or of all.
    User(Option<u32>),
}

impl Top {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Next::Quit,
                KeyCode::Char('z') => Next::Suspend,
                KeyCode::Char('u') => {
                    self.clear();
                    Next::Stay
                }
                _ => Next::Stay,
            };
        }
        // F10 quits from everywhere, as in htop.
        if key.code == KeyCode::F(10) {
            return Next::Quit;
        }
        match std::mem::replace(&mut self.mode, Mode::List) {
            Mode::List => return self.list_key(key.code),
            Mode::Help => {}
            Mode::Details { job, first } => self.details_key(job, first, key.code),
            Mode::Search(text) => self.search_key(text, key.code),
            Mode::Filter { before } => self.filter_key(before, key.code),
            Mode::Menu(menu) => self.menu_key(menu, key.code),
        }
        Next::Stay
    }

    fn list_key(&mut self, code: KeyCode) -> Next {
        match code {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Tab | KeyCode::BackTab => self.active = 1 - self.active,
            KeyCode::Char('m') | KeyCode::Right => self.step_pod(1),
            KeyCode::Left => self.step_pod(-1),
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Enter => {
                if let Some(row) = self.chosen_row() {
                    self.mode = Mode::Details { job: row.job.clone(), first: 0 };
                }
            }
            KeyCode::F(1) | KeyCode::Char('h' | '?') => self.mode = Mode::Help,
            KeyCode::F(3) | KeyCode::Char('/') => self.mode = Mode::Search(String::new()),
            KeyCode::F(4) | KeyCode::Char('\\') => self.mode = Mode::Filter { before: self.filter.clone() },
            KeyCode::F(6) | KeyCode::Char('>') => self.mode = Mode::Menu(self.columns()),
            KeyCode::Char('u') => self.mode = Mode::Menu(self.users()),
            _ => self.move_key(code),
        }
        Next::Stay
    }

    fn move_key(&mut self, code: KeyCode) {
        let list = &mut self.lists[self.active];
        let page = isize::try_from(list.room.max(1)).unwrap_or(isize::MAX);
        match code {
            KeyCode::Up => list.step(-1),
            KeyCode::Down => list.step(1),
            KeyCode::PageUp => list.step(-page),
            KeyCode::PageDown => list.step(page),
            KeyCode::Home => list.step(isize::MIN),
            KeyCode::End => list.step(isize::MAX),
            _ => {}
        }
    }

    /// Clears the text that the user types. Elsewhere that is the filter.
    fn clear(&mut self) {
        match &mut self.mode {
            Mode::Search(text) => text.clear(),
            _ => self.filter.clear(),
        }
        self.arrange();
    }

    fn details_key(&mut self, job: String, first: u16, code: KeyCode) {
        let last = u16::try_from(self.details(&job).lines().count().saturating_sub(1)).unwrap_or(u16::MAX);
        let first = match code {
            KeyCode::Up => first.saturating_sub(1),
            KeyCode::Down => (first + 1).min(last),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => return,
            _ => first,
        };
        self.mode = Mode::Details { job, first };
    }

    /// A key while a text is searched for. F3 goes to the next row with it.
    fn search_key(&mut self, mut text: String, code: KeyCode) {
        let next = usize::from(matches!(code, KeyCode::F(3)));
        if next == 1 || edit(&mut text, code) {
            self.find(&text.to_lowercase(), next);
            self.mode = Mode::Search(text);
        } else if !matches!(code, KeyCode::Enter | KeyCode::Esc) {
            self.move_key(code);
            self.mode = Mode::Search(text);
        }
    }

    /// Moves the cursor to the first row with this text, from `next` rows behind it on, around the end.
    fn find(&mut self, text: &str, next: usize) {
        let (list, table) = (&mut self.lists[self.active], &self.picture.lists[self.active]);
        let count = list.shown.len();
        let mut places = (0..count).map(|step| (list.cursor + next + step) % count);
        if let Some(place) = places.find(|place| table.rows[list.shown[*place]].contains(text)) {
            list.cursor = place;
        }
    }

    /// Whether a row that is shown has this text.
    pub(super) fn finds(&self, text: &str) -> bool {
        let (list, text) = (&self.lists[self.active], text.to_lowercase());
        list.shown.iter().any(|row| self.picture.lists[self.active].rows[*row].contains(&text))
    }

    fn filter_key(&mut self, before: String, code: KeyCode) {
        let mut text = std::mem::take(&mut self.filter);
        match code {
            KeyCode::Esc => text = before,
            KeyCode::Enter => {}
            _ => {
                if !edit(&mut text, code) {
                    self.move_key(code);
                }
                self.mode = Mode::Filter { before };
            }
        }
        self.filter = text;
        self.arrange();
    }

    fn menu_key(&mut self, mut menu: Menu, code: KeyCode) {
        let last = menu.entries.len().saturating_sub(1);
        match code {
            KeyCode::Up => menu.cursor = menu.cursor.saturating_sub(1),
            KeyCode::Down => menu.cursor = (menu.cursor + 1).min(last),
            KeyCode::Home => menu.cursor = 0,
            KeyCode::End => menu.cursor = last,
            KeyCode::Enter => {
                if let Some((_, choice)) = menu.entries.get(menu.cursor) {
                    self.choose(*choice);
                }
                return;
            }
            KeyCode::Esc | KeyCode::Char('q') => return,
            _ => {}
        }
        self.mode = Mode::Menu(menu);
    }

    /// The column that already sorts is turned round.
    fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Column(column) => {
                let order = &mut self.lists[self.active].order;
                let reversed = order.column == column && !order.reversed;
                *order = Order { column, reversed };
                self.arrange();
            }
            Choice::User(user) => {
                self.user = user;
                self.refresh();
            }
        }
    }

    /// The menu of columns.
    fn columns(&self) -> Menu {
        let own = ["order of places", "order of the line"][self.active].to_owned();
        let heads =
            self.picture.lists[self.active].heads.iter().enumerate().filter(|(_, head)| head.is_shown);
        let columns = heads.map(|(place, head)| (head.text.to_owned(), Choice::Column(Some(place))));
        let entries = std::iter::once((own, Choice::Column(None))).chain(columns).collect();
        Menu::new("Sort by", entries, Choice::Column(self.lists[self.active].order.column))
    }

    /// The menu of users who have jobs.
    fn users(&self) -> Menu {
        let name = |user: u32| self.surroundings.users.name(user).unwrap_or_else(|| user.to_string());
        let users: BTreeMap<_, _> = self.jobs().map(|job| (name(job.user), job.user)).collect();
        let users = users.into_iter().map(|(name, user)| (name, Choice::User(Some(user))));
        let entries = std::iter::once(("all users".to_owned(), Choice::User(None))).chain(users).collect();
        Menu::new("User", entries, Choice::User(self.user))
    }
}

impl Menu {
    fn new(title: &'static str, entries: Vec<(String, Choice)>, chosen: Choice) -> Self {
        let cursor = entries.iter().position(|(_, choice)| *choice == chosen).unwrap_or(0);
        Self { title, entries, cursor }
    }
}

/// Changes a text by a key. Returns whether the key was one for texts.
fn edit(text: &mut String, code: KeyCode) -> bool {
    match code {
        KeyCode::Char(character) if text.chars().count() < MOST_TEXT => text.push(character),
        KeyCode::Char(_) => {}
        KeyCode::Backspace => drop(text.pop()),
        _ => return false,
    }
    true
}
