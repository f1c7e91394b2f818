//! Draws the state on a frame.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::symbols::bar;
use ratatui::text::Text;
use ratatui::widgets::Sparkline;

use super::keys::Mode;
use super::lists::{Head, Table};
use super::overlay;
use super::paint::{CHOSEN, Paint};
use super::picture::{History, MINUTES, Note, Series};
use super::state::Top;
use crate::map::TOO_LARGE;
use crate::page::{Line, Tone};
use crate::view::NO_MODEL;
use crate::{find_document, safe};

/// The smallest terminal that has room for a picture.
const LEAST: (u16, u16) = (30, 8);

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
        let (notes, map, numbers) = (self.notes(), map_lines(self, &paint), number_lines(self, &paint));
        let wanted = [notes.len(), numbers.height(), map.len()];
        let heights = Heights::new(area.height, wanted, self.picture.history.is_some());
        let mut rest = Rows(area);
        frame.render_widget(title(self, &paint), rest.next(1));
        frame.render_widget(note_lines(&notes, &paint), rest.next(heights.notes));
        frame.render_widget(cut(map, heights.map, &paint), rest.next(heights.map));
        frame.render_widget(numbers, rest.next(heights.numbers));
        rest.next(heights.gap);
        if let Some(history) = &self.picture.history {
            last_hour(frame, history, &paint, rest.next(heights.used), rest.next(heights.waiting));
            rest.next(heights.gap);
        }
        frame.render_widget(tabs(self, &paint), rest.next(1));
        frame.render_widget(heads(self, &paint), rest.next(1));
        rows(self, frame, &paint, rest.next(heights.list));
        foot(self, frame, &paint, rest.next(1));
        match &self.mode {
            Mode::Help => overlay::help(frame, &paint),
            Mode::Menu(menu) => overlay::menu(frame, menu, &paint),
            Mode::List | Mode::Search(_) | Mode::Filter { .. } => {}
        }
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
#[derive(Debug, Default, PartialEq, Eq)]
struct Heights {
    notes: u16,
    map: u16,
    numbers: u16,
    used: u16,
    waiting: u16,
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
        let used = take(has_history.into());
        let mut heights = Self { notes, map, numbers, used, ..Self::default() };
        // What follows is nice to have, once the list has some rows more.
        if has_history && room >= 6 {
            (heights.waiting, room) = (1, room - 1);
        }
        if room >= 8 {
            (heights.gap, room) = (1, room - 1 - u16::from(has_history));
        }
        if has_history && room >= 14 {
            (heights.used, room) = (3, room - 2);
        }
        heights.list = LEAST_LIST + room;
        heights
    }
}

/// The width of the labels of the last hour.
const LABEL: u16 = 14;

/// The levels of a bar on a terminal that takes only ASCII.
const ASCII_LEVELS: bar::Set<'_> = bar::Set {
    full: "#",
    seven_eighths: "*",
    three_quarters: "+",
    five_eighths: "=",
    half: "-",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: "_",
    empty: " ",
};

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

/// The numbers by use, in as many lines as they need.
fn number_lines(top: &Top, paint: &Paint) -> Text<'static> {
    let mut lines: Vec<Line> = vec![Line::new()];
    let mut used = 0;
    for (marks, words) in &top.picture.numbers {
        let width = marks.len() + 1 + words.len();
        if used > 0 && used + 2 + width > paint.width {
            lines.push(Line::new());
            used = 0;
        }
        let Some(line) = lines.last_mut() else { continue };
        let gap = if used > 0 { "  " } else { "" };
        used += gap.len() + width;
        line.push((Tone::Plain, gap.to_owned()));
        line.extend(marks.iter().map(|(mark, tone)| (*tone, mark.to_string())));
        line.push((Tone::Plain, format!(" {words}")));
    }
    paint.text(lines)
}

/// The last hour: IPUs in use, and jobs in line.
fn last_hour(frame: &mut Frame<'_>, history: &History, paint: &Paint, used: Rect, waiting: Rect) {
    series(frame, "used, 1 h", Tone::Green, (&history.used, history.total), paint, used);
    let most = history.waiting.iter().flatten().max().copied().unwrap_or(0);
    series(frame, "waiting, 1 h", Tone::Yellow, (&history.waiting, most), paint, waiting);
}

fn series(
    frame: &mut Frame<'_>,
    label: &str,
    tone: Tone,
    (values, most): (&Series, u64),
    paint: &Paint,
    area: Rect,
) {
    let [left, right] = Layout::horizontal([Constraint::Length(LABEL), Constraint::Fill(1)]).areas(area);
    frame.render_widget(paint.plain(label), left);
    // A narrow terminal shows the newest values.
    let values = &values[MINUTES.saturating_sub(right.width.into())..];
    let levels = if paint.utf8 { bar::NINE_LEVELS } else { ASCII_LEVELS };
    let line = Sparkline::default().data(values).max(most.max(1)).bar_set(levels);
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
    paint.line(&[(Tone::Dim, &format!("  {}", joined(cells, &table.heads)))])
}

/// The rows that fit.
fn rows(top: &mut Top, frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
    let Top { picture, lists, active, .. } = top;
    let (table, list): (&Table, _) = (&picture.lists[*active], &mut lists[*active]);
    let cursor = list.cursor;
    for ((place, row), y) in list.on_screen(area.height.into()).zip(area.y..) {
        let row = &table.rows[row];
        let (tone, mark) = row.mark;
        let text = format!(" {}", joined(row.cells.iter().map(String::as_str), &table.heads));
        let here = Rect { y, height: 1, ..area };
        frame.render_widget(paint.line(&[(tone, &mark.to_string()), (Tone::Plain, &text)]), here);
        if place == cursor {
            frame.buffer_mut().set_style(here, CHOSEN);
        }
    }
}

fn joined<'a>(cells: impl Iterator<Item = &'a str>, heads: &[Head]) -> String {
    let cell = |(cell, head): (&str, &Head)| {
        let gap = " ".repeat(head.width.saturating_sub(safe::width(cell)));
        if head.right { gap + cell } else { cell.to_owned() + &gap }
    };
    cells.zip(heads).map(cell).collect::<Vec<_>>().join("  ")
}

/// A key, and what it does.
type Key = (&'static str, &'static str);

/// The keys of the list, the most needed ones first. They fit 80 columns.
const LIST: &[Key] = &[
    ("F1", "Help"),
    ("q", "Quit"),
    ("Tab", "List"),
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
        Mode::Menu(_) => return keys(&[("Enter", "Choose"), ("Esc", "Back")], frame, paint, area),
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
                    let sum = all.notes
                        + all.map
                        + all.numbers
                        + all.used
                        + all.waiting
                        + all.gap * (1 + u16::from(history))
                        + all.list;
                    assert_eq!(sum + ALWAYS, height, "{wanted:?} {all:?}");
                }
            }
        }
        let usual = Heights::new(24, [0, 1, 16], true);
        assert_eq!((usual.map, usual.numbers, usual.used, usual.list), (16, 1, 1, 2));
    }
}
