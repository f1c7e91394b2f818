//! Draws the state on a frame.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Position, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Block, Borders, Sparkline};

use super::keys::Mode;
use super::lists::{Head, Table};
use super::overlay;
use super::paint::{CHOSEN, Paint};
use super::picture::{History, MINUTES, Note, Series};
use super::state::Top;
use crate::map::TOO_LARGE;
use crate::page::{self, Line, Tone};
use crate::view::NO_MODEL;
use crate::{find_document, safe};

/// The smallest terminal that has room for a picture.
const LEAST: (u16, u16) = (30, 8);

/// The width from which the last hour stands beside the map, the least width of what is left of it, and the gap.
const WIDE: u16 = 110;
const LEAST_LEFT: usize = 60;
const GAP: u16 = 2;

impl Top {
    /// Draws the state.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let paint = Paint {
            colour: self.common.color.unwrap_or_default().are_used(&self.surroundings),
            utf8: self.surroundings.utf8(),
            width: area.width.into(),
        };
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let line = format!("svipu top needs {}x{}", LEAST.0, LEAST.1);
            return frame.render_widget(paint.plain(&line), area);
        }
        let (notes, has_history) = (self.notes(), self.picture.history.is_some());
        let beside = has_history && area.width >= WIDE;
        let map = map_lines(
            self,
            &Paint { width: if beside { paint.width * 2 / 3 } else { paint.width }, ..paint },
        );
        let width = if beside { widest(&map).max(LEAST_LEFT) } else { paint.width };
        let numbers = number_lines(self, &Paint { width, ..paint });
        let least = if beside { usize::from(area.height / 4).saturating_sub(numbers.height()) } else { 0 };
        let wanted = [notes.len(), numbers.height(), map.len().max(least)];
        let heights = Heights::new(area.height, wanted, has_history && !beside);
        let mut rest = Rows(area);
        frame.render_widget(title(self, &paint), rest.next(1));
        frame.render_widget(note_lines(&notes, &paint), rest.next(heights.notes));
        let upper = rest.next(heights.map + heights.numbers);
        let width = Constraint::Length(width.try_into().unwrap_or(u16::MAX));
        let parts = Layout::horizontal([width, Constraint::Fill(1)]).spacing(if beside { GAP } else { 0 });
        let [left, right] = parts.areas(upper);
        let mut left = Rows(left);
        let of_map = heights.map.min(u16::try_from(map.len()).unwrap_or(u16::MAX));
        frame.render_widget(cut(map, of_map, &paint), left.next(of_map));
        frame.render_widget(numbers, left.next(upper.height));
        rest.next(heights.gap);
        if let Some(history) = &self.picture.history {
            last_hour(frame, history, &paint, if beside { right } else { rest.next(heights.history) });
            rest.next(if beside { 0 } else { heights.gap });
        }
        frame.render_widget(tabs(self, &paint), rest.next(1));
        frame.render_widget(heads(self, &paint), rest.next(1));
        rows(self, frame, &paint, rest.next(heights.list));
        foot(self, frame, &paint, rest.next(1));
        match &self.mode {
            Mode::Help => overlay::text(frame, overlay::HELP, 0, &paint),
            Mode::Details { job, first } => overlay::text(frame, &self.details(job), *first, &paint),
            Mode::Menu(menu) => overlay::menu(frame, menu, &paint),
            Mode::List | Mode::Search(_) | Mode::Filter { .. } => {}
        }
        paint.fit(frame.buffer_mut());
    }
}

/// The rows of the screen that are left.
struct Rows(Rect);

impl Rows {
    /// The next rows.
    fn next(&mut self, height: u16) -> Rect {
        let height = height.min(self.0.height);
        let rows = Rect { height, ..self.0 };
        self.0 = Rect { y: self.0.y + height, height: self.0.height - height, ..self.0 };
        rows
    }
}

/// The rows that each screen has: title, tabs, heads of the columns and keys.
const ALWAYS: u16 = 4;

/// The rows of the list that each screen has.
const LEAST_LIST: u16 = 2;

/// The rows of each part.
#[derive(Debug)]
struct Heights {
    notes: u16,
    map: u16,
    numbers: u16,
    history: u16,
    gap: u16,
    list: u16,
}

impl Heights {
    /// Shares the rows of a screen. The notes, the numbers and the map want so many.
    fn new(height: u16, wanted: [usize; 3], has_history: bool) -> Self {
        let mut room = height.saturating_sub(ALWAYS + LEAST_LIST);
        let mut take = |wanted: u16| {
            let taken = wanted.min(room);
            room -= taken;
            taken
        };
        let [notes, numbers, map] = wanted.map(|wanted| u16::try_from(wanted).unwrap_or(u16::MAX));
        // Many notes and numbers must not drive out the map.
        let share = (height / 8).max(1);
        let (notes, numbers) = (take(notes.min(share)), take(numbers.min(share)));
        let map = take(map);
        let history = take(has_history.into());
        // Further rows of the last hour and the gaps are nice to have, once the list has some rows more.
        let (more, gap) = match (has_history, room) {
            (true, 18..) => (5, 1),
            (true, 12..) => (2, 1),
            (true, 9..) => (1, 1),
            (true, 6..) => (1, 0),
            (false, 8..) => (0, 1),
            _ => (0, 0),
        };
        let list = LEAST_LIST + room - more - gap * (1 + u16::from(has_history));
        Self { notes, map, numbers, history: history + more, gap, list }
    }
}

/// The width of the labels of the last hour, with the numbers of the axis.
const LABEL: u16 = 15;

/// The Pod, and the age of the document.
fn title(top: &Top, paint: &Paint) -> Text<'static> {
    let pods = top.pods();
    let place = top.pod();
    let cluster = match &*top.status.writer.cluster {
        "" => String::new(),
        cluster => format!(", cluster {}", safe::cut(cluster, 20)),
    };
    let name = match pods.get(place) {
        None => format!("no Pod{cluster}"),
        Some((model, pod)) => {
            let (model, controller) = (safe::cut(&model.name, 20), safe::cut(&pod.controller, 30));
            let count = match pods.len() {
                1 => String::new(),
                count => format!(" (Pod {} of {count})", place + 1),
            };
            format!("{model} on {controller}{count}{cluster}")
        }
    };
    let age = find_document::age(&top.status, top.surroundings.now);
    paint.sides((Tone::Bold, &name), &if top.paused { format!("PAUSED, {age}") } else { age })
}

/// The notes, each on one line.
fn note_lines(notes: &[Note], paint: &Paint) -> Text<'static> {
    let mut page = paint.page();
    notes.iter().for_each(|(tone, text)| page.toned(&[(*tone, &safe::cut(text, paint.width))]));
    paint.text(page.lines())
}

/// The lines of the map.
fn map_lines(top: &Top, paint: &Paint) -> Vec<Line> {
    let mut page = paint.page();
    match (&top.picture.grid, top.pods().is_empty()) {
        (Some(grid), _) => drop(grid.add(&mut page, paint.width)),
        (None, true) => page.line(NO_MODEL),
        (None, false) => page.line(TOO_LARGE),
    }
    page.lines()
}

/// So many lines of the map. The last one tells how many are left out.
fn cut(mut lines: Vec<Line>, height: u16, paint: &Paint) -> Text<'static> {
    let shown = usize::from(height);
    if lines.len() > shown {
        lines.truncate(shown.saturating_sub(1));
        lines.push(vec![(Tone::Dim, "... a larger terminal shows the whole map".to_owned())]);
    }
    paint.text(lines)
}

/// The width of the broadest line.
fn widest(lines: &[Line]) -> usize {
    lines.iter().map(page::width).max().unwrap_or(0)
}

/// The numbers by use, in as many lines as they need.
fn number_lines(top: &Top, paint: &Paint) -> Text<'static> {
    let mut page = paint.page();
    page.packed(top.picture.numbers.iter().cloned(), "", paint.width);
    paint.text(page.lines())
}

/// The last hour: IPUs in use, jobs in line, and below them the time.
fn last_hour(frame: &mut Frame<'_>, history: &History, paint: &Paint, area: Rect) {
    let axis = u16::from(area.height >= 3);
    let waiting = if area.height >= 2 { ((area.height - axis) / 3).max(1) } else { 0 };
    let mut rows = Rows(area);
    let used = rows.next(area.height - axis - waiting);
    series(frame, "IPUs used", Tone::Green, (&history.used, history.total), paint, used);
    let most = history.waiting.iter().flatten().max().copied().unwrap_or(0);
    series(frame, "waiting", Tone::Yellow, (&history.waiting, most), paint, rows.next(waiting));
    let [_, right] = beside_label(rows.next(axis));
    let times = [(" -60 min", Alignment::Left), ("now", Alignment::Right), ("-30 min", Alignment::Center)];
    for (time, side) in times.into_iter().take(if right.width < 30 { 2 } else { 3 }) {
        frame.render_widget(paint.line(&[(Tone::Dim, time)]).alignment(side), right);
    }
}

fn beside_label(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(LABEL), Constraint::Fill(1)]).areas(area)
}

/// A series over the time, with the ends of its axis.
fn series(
    frame: &mut Frame<'_>,
    label: &str,
    tone: Tone,
    (values, most): (&Series, u64),
    paint: &Paint,
    area: Rect,
) {
    let [left, right] = beside_label(area);
    let number = |number: u64| Text::from(number.to_string()).right_aligned();
    if area.height > 1 {
        frame.render_widget(number(0), Rect { y: area.bottom() - 1, height: 1, ..left });
    }
    frame.render_widget(number(most), left);
    frame.render_widget(paint.plain(label), left);
    let axis = Block::new().borders(Borders::LEFT);
    let columns = usize::from(axis.inner(right).width);
    let values = (0..columns).map(|column| values[column * MINUTES / columns]);
    let line = Sparkline::default().data(values).max(most.max(1)).block(axis);
    frame.render_widget(line.style(paint.style(tone)).absent_value_symbol(" "), right);
}

/// The names of both lists, the numbers of their rows, and the choices of the user.
fn tabs(top: &Top, paint: &Paint) -> Text<'static> {
    let tab = |place: usize, name: &str| {
        let (shown, all) = (top.lists[place].shown.len(), top.picture.lists[place].rows.len());
        let count = if shown == all { all.to_string() } else { format!("{shown} of {all}") };
        // Brackets tell the list that is shown without colour.
        if place == top.active { format!("[{name} {count}]") } else { format!(" {name} {count} ") }
    };
    let names = format!("{} {}", tab(0, "Partitions"), tab(1, "Waiting jobs"));
    let order = top.lists[top.active].order;
    let head = order.column.and_then(|column| top.picture.lists[top.active].heads.get(column));
    let direction = if order.reversed { " reversed" } else { "" };
    let user = top.user.map(|user| top.surroundings.users.name(user).unwrap_or_else(|| user.to_string()));
    let choices = [
        user.map(|user| format!("user {}", safe::cut(&user, 16))),
        (!top.filter.is_empty()).then(|| format!("filter {}", safe::cut(&top.filter, 16))),
        head.map(|head| format!("by {}{direction}", head.text)),
    ];
    let choices: Vec<_> = choices.into_iter().flatten().collect();
    paint.sides((Tone::Bold, &names), &choices.join(", "))
}

/// The heads of the columns.
fn heads(top: &Top, paint: &Paint) -> Text<'static> {
    let table = &top.picture.lists[top.active];
    let cells = table.heads.iter().map(|head| head.text);
    paint.line(&[(Tone::Dim, &format!("  {}", joined(cells, &table.heads, paint.width - 2)))])
}

/// The rows that fit.
fn rows(top: &mut Top, frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
    let Top { picture, lists, active, .. } = top;
    let (table, list): (&Table, _) = (&picture.lists[*active], &mut lists[*active]);
    let cursor = list.cursor;
    for ((place, row), y) in list.on_screen(area.height.into()).zip(area.y..) {
        let row = &table.rows[row];
        let (tone, mark) = row.mark;
        let cells = row.cells.iter().map(String::as_str);
        let text = format!(" {}", joined(cells, &table.heads, paint.width - 2));
        let here = Rect { y, height: 1, ..area };
        frame.render_widget(paint.line(&[(tone, &mark.to_string()), (Tone::Plain, &text)]), here);
        if place == cursor {
            frame.buffer_mut().set_style(here, CHOSEN);
        }
    }
}

/// The cells in their columns, in so much room. The last text that fits in part is cut.
fn joined<'a>(cells: impl Iterator<Item = &'a str>, heads: &[Head], room: usize) -> String {
    let mut line = String::new();
    for (cell, head) in cells.zip(heads).filter(|(_, head)| head.is_shown) {
        let room = room.saturating_sub(safe::width(&line));
        if room < if head.right { head.width } else { head.text.len() } {
            break;
        }
        let width = head.width.min(room);
        let cell = safe::cut(cell, width);
        let gap = " ".repeat(width - safe::width(&cell));
        line += &if head.right { gap + &cell } else { cell + &gap };
        line += "  ";
    }
    line
}

/// A key, and what it does.
type Key = (&'static str, &'static str);

/// The keys of the list, the most needed ones first. All but the last fit 80 columns.
const LIST: &[Key] = &[
    ("F1", "Help"),
    ("q", "Quit"),
    ("Tab", "List"),
    ("Enter", "Job"),
    ("F3", "Search"),
    ("F4", "Filter"),
    ("F6", "Sort"),
    ("u", "User"),
    ("m", "Pod"),
    ("Space", "Pause"),
];

/// Draws the line.
fn foot(top: &Top, frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
    let prompt = match &top.mode {
        Mode::List => return keys(LIST, frame, paint, area),
        Mode::Help => return keys(&[("any key", "Back")], frame, paint, area),
        Mode::Details { .. } => return keys(&[("Up Down", "Move"), ("Esc", "Back")], frame, paint, area),
        Mode::Menu(_) => return keys(&[("Enter", "Choose"), ("Esc", "Back")], frame, paint, area),
        Mode::Search(text) if !top.finds(text) => format!("No row has this text. Search: {text}"),
        Mode::Search(text) => format!("F3 next, Enter ends. Search: {text}"),
        Mode::Filter { .. } => format!("Enter keeps, Esc undoes. Filter: {}", top.filter),
    };
    let prompt = safe::cut(&prompt, paint.width.saturating_sub(1));
    frame.render_widget(paint.plain(&prompt), area);
    let column = u16::try_from(safe::width(&prompt)).unwrap_or(0);
    frame.set_cursor_position(Position { x: area.x + column, y: area.y });
}

fn keys(keys: &[Key], frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
    let mut x = area.x;
    for (key, effect) in keys {
        let (before, width) = (format!("{key} "), effect.len());
        let right = usize::from(x) + before.len() + width;
        let (Ok(start), Ok(end)) = (u16::try_from(right - width), u16::try_from(right)) else { return };
        if end > area.right() {
            return;
        }
        frame.render_widget(
            paint.line(&[(Tone::Plain, &before), (Tone::Plain, effect)]),
            Rect { x, width: end - x, ..area },
        );
        frame.buffer_mut().set_style(Rect { x: start, width: end - start, ..area }, CHOSEN);
        x = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_top_shares_each_height_without_rest() {
        for height in 8..100 {
            for wanted in [[0, 1, 1], [1, 2, 16], [9, 9, 99], [usize::MAX; 3]] {
                for history in [false, true] {
                    let all = Heights::new(height, wanted, history);
                    let upper = all.notes + all.map + all.numbers + all.history;
                    let sum = upper + all.gap * (1 + u16::from(history)) + all.list;
                    assert_eq!(sum + ALWAYS, height, "{wanted:?} {all:?}");
                }
            }
        }
        let usual = Heights::new(24, [0, 1, 16], true);
        assert_eq!((usual.map, usual.numbers, usual.history, usual.list), (16, 1, 1, 2));
    }
}
