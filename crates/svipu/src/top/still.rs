//! One frame of the screen as a picture in SVG.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use ratatui::symbols::{bar, line};

use super::state::Top;
use crate::page::{Colours, PALETTE, Tone};
use crate::svg::{Area, CHARACTER, LINE, Svg};

/// The size of the frame, in characters.
const COLUMNS: u16 = 120;
const ROWS: u16 = 26;

/// The bars of the last hour, in eighths of a line. Fonts leave gaps between them.
const BARS: [&str; 8] = [
    bar::ONE_EIGHTH,
    bar::ONE_QUARTER,
    bar::THREE_EIGHTHS,
    bar::HALF,
    bar::FIVE_EIGHTHS,
    bar::THREE_QUARTERS,
    bar::SEVEN_EIGHTHS,
    bar::FULL,
];

/// A part of a line that is drawn at once.
#[derive(PartialEq, Eq)]
enum Part {
    Blank,
    Bar(usize),
    /// An axis, which fonts would draw with gaps.
    Axis,
    Text,
}

impl Top {
    /// The screen as a picture in SVG, with colours unless the options forbid them.
    #[must_use]
    pub fn svg(mut self) -> String {
        if self.common.color != Some(Colours::Never) {
            self.common.color = Some(Colours::Always);
        }
        let Ok(mut terminal) = Terminal::new(TestBackend::new(COLUMNS, ROWS));
        let Ok(frame) = terminal.draw(|frame| self.draw(frame));
        let mut svg = Svg::new();
        for (row, cells) in frame.buffer.content.chunks(COLUMNS.into()).enumerate() {
            let mut column = 0;
            for cells in cells.chunk_by(|one, next| one.style() == next.style() && part(one) == part(next)) {
                let area = Area {
                    x: column * CHARACTER,
                    y: row * LINE,
                    width: cells.len() * CHARACTER,
                    height: LINE,
                };
                draw(&mut svg, area, cells);
                column += cells.len();
            }
        }
        svg.finish("svipu top", None)
    }
}

/// Draws cells of one style and one part.
fn draw(svg: &mut Svg, area: Area, cells: &[Cell]) {
    if cells[0].modifier.contains(Modifier::REVERSED) {
        svg.area(area, Tone::Dim, "", "");
    }
    if let Tone::Job { .. } = tone(&cells[0]) {
        svg.area(area, tone(&cells[0]), "", "");
    }
    match part(&cells[0]) {
        Part::Blank => {}
        Part::Bar(eighths) => {
            let height = LINE * eighths / BARS.len();
            svg.area(Area { y: area.y + LINE - height, height, ..area }, tone(&cells[0]), "", "");
        }
        Part::Axis => svg.mark(area.x + CHARACTER / 2, area.y, LINE),
        Part::Text => {
            let text: String = cells.iter().map(Cell::symbol).collect();
            svg.text(area.x, area.y, tone(&cells[0]), &text);
        }
    }
}

fn part(cell: &Cell) -> Part {
    match BARS.iter().position(|bar| *bar == cell.symbol()) {
        Some(place) => Part::Bar(place + 1),
        None if cell.symbol() == " " => Part::Blank,
        None if cell.symbol() == line::VERTICAL => Part::Axis,
        None => Part::Text,
    }
}

/// The tone that the screen drew in this style.
fn tone(cell: &Cell) -> Tone {
    let own = cell.modifier.contains(Modifier::BOLD);
    if let Some(colour) = PALETTE.iter().position(|colour| cell.bg == Color::Indexed(*colour)) {
        return Tone::Job { colour, own };
    }
    match (cell.fg, own) {
        (Color::Red, true) => Tone::Alarm,
        (Color::Red, false) => Tone::Red,
        (Color::Green, _) => Tone::Green,
        (Color::Yellow, _) => Tone::Yellow,
        (Color::Blue, _) => Tone::Blue,
        (Color::Magenta, _) => Tone::Magenta,
        (Color::Cyan, _) => Tone::Cyan,
        (_, true) => Tone::Bold,
        _ if cell.modifier.contains(Modifier::DIM) => Tone::Dim,
        _ => Tone::Plain,
    }
}
