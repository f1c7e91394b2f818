//! Draws the state on a frame.

mod foot;
mod head;
mod heights;
mod list;
mod overlay;
mod paint;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::keys::Mode;
use super::state::Top;
use heights::Heights;
use paint::Paint;

/// The smallest terminal that has room for a picture.
const LEAST: (u16, u16) = (30, 8);

impl Top {
    /// Draws the state.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let paint = Paint {
            colour: self.common.color.unwrap_or_default().colours(&self.surroundings),
            utf8: self.surroundings.utf8(),
            width: area.width.into(),
        };
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let line = format!("svipu top needs {}x{}", LEAST.0, LEAST.1);
            return frame.render_widget(paint.plain(&line), area);
        }
        let (notes, map, numbers) = (self.notes(), head::map(self, &paint), head::numbers(self, &paint));
        let wanted = [notes.len(), numbers.height(), map.len()];
        let heights = Heights::new(area.height, wanted, self.picture.history.is_some());
        let mut rest = Rows(area);
        frame.render_widget(head::title(self, &paint), rest.next(1));
        frame.render_widget(head::notes(&notes, &paint), rest.next(heights.notes));
        frame.render_widget(head::cut(map, heights.map, &paint), rest.next(heights.map));
        frame.render_widget(numbers, rest.next(heights.numbers));
        rest.next(heights.gap);
        if let Some(history) = &self.picture.history {
            head::history(frame, history, &paint, rest.next(heights.used), rest.next(heights.waiting));
            rest.next(heights.gap);
        }
        frame.render_widget(list::tabs(self, &paint), rest.next(1));
        frame.render_widget(list::heads(self, &paint), rest.next(1));
        list::rows(self, frame, &paint, rest.next(heights.list));
        foot::draw(self, frame, &paint, rest.next(1));
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
