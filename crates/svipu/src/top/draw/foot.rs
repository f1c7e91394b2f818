//! The last line: the keys, or the text that the user types.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::paint::{CHOSEN, Paint};
use crate::page::Tone;
use crate::safe;
use crate::top::keys::Mode;
use crate::top::state::Top;

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
pub(super) fn draw(top: &Top, frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
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
