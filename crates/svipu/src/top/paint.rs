//! Colours and safe texts for frames.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};

use crate::page::{self, BLACK, PALETTE, Page, Tone};
use crate::safe;

/// What the terminal can show.
pub(super) struct Paint {
    pub(super) colour: bool,
    pub(super) utf8: bool,
    /// Its columns.
    pub(super) width: usize,
}

impl Paint {
    /// A page. Its texts are safe for the terminal.
    pub(super) fn page(&self) -> Page {
        Page::new(self.colour, self.utf8)
    }

    /// Lines of a page.
    pub(super) fn text(&self, lines: Vec<page::Line>) -> Text<'static> {
        let piece = |(tone, text)| ratatui::text::Span::styled(text, self.style(tone));
        let line = |line: page::Line| Line::from_iter(line.into_iter().map(piece));
        lines.into_iter().map(line).collect()
    }

    /// A line of pieces.
    pub(super) fn line(&self, pieces: &[(Tone, &str)]) -> Text<'static> {
        let mut page = self.page();
        page.toned(pieces);
        self.text(page.lines())
    }

    /// A line without colour.
    pub(super) fn plain(&self, text: &str) -> Text<'static> {
        self.line(&[(Tone::Plain, text)])
    }

    /// A line with a text on the left and one on the right, which is shown in full.
    pub(super) fn sides(&self, (tone, left): (Tone, &str), right: &str) -> Text<'static> {
        let right = safe::cut(right, self.width);
        let room = self.width - safe::width(&right);
        let left = safe::cut(left, room.saturating_sub(1));
        let gap = " ".repeat(room - safe::width(&left));
        self.line(&[(tone, &left), (Tone::Plain, &gap), (Tone::Dim, &right)])
    }

    /// The style of a tone. Without colours, alarms are still bold.
    pub(super) fn style(&self, tone: Tone) -> Style {
        let plain = Style::new();
        let colour = |colour| if self.colour { plain.fg(colour) } else { plain };
        match tone {
            Tone::Plain => plain,
            Tone::Bold => plain.add_modifier(Modifier::BOLD),
            Tone::Dim => plain.add_modifier(Modifier::DIM),
            Tone::Red => colour(Color::Red),
            Tone::Green => colour(Color::Green),
            Tone::Yellow => colour(Color::Yellow),
            Tone::Blue => colour(Color::Blue),
            Tone::Magenta => colour(Color::Magenta),
            Tone::Cyan => colour(Color::Cyan),
            Tone::Alarm => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Job { colour: place, own } => {
                let block = colour(Color::Indexed(BLACK));
                let block = if self.colour { block.bg(Color::Indexed(PALETTE[place])) } else { block };
                if own { block.add_modifier(Modifier::BOLD) } else { block }
            }
        }
    }

    /// Replaces the signs of bars and frames that the terminal lacks.
    pub(super) fn fit(&self, buffer: &mut Buffer) {
        for cell in buffer.content.iter_mut().filter(|cell| !self.utf8 && !cell.symbol().is_ascii()) {
            cell.set_symbol(match cell.symbol() {
                "▁" => "_",
                "▂" => ".",
                "▃" => ":",
                "▄" => "-",
                "▅" => "=",
                "▆" => "+",
                "▇" => "*",
                "█" => "#",
                "│" => "|",
                "─" => "-",
                _ => "+",
            });
        }
    }
}

/// The style of what the user has chosen.
pub(super) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
