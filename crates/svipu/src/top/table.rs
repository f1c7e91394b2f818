//! A list on the screen: rows that the user filters, sorts and moves through.

use crate::page::Tone;
use crate::safe;
use crate::table::Column;
use crate::view::View;

/// A column with the number by which it is sorted. Without one its texts are sorted.
pub(super) struct Field<Row> {
    pub(super) column: Column<Row>,
    pub(super) number: Option<fn(&Row) -> i64>,
}

impl<Row> Field<Row> {
    /// A column of texts.
    pub(super) fn text(head: &'static str, width: usize, text: fn(&Row, &View<'_>) -> String) -> Self {
        Self { column: Column::new(head, head, width, text), number: None }
    }

    /// A column that is sorted by a number, which stands on the right.
    pub(super) fn number(
        head: &'static str,
        width: usize,
        text: fn(&Row, &View<'_>) -> String,
        number: fn(&Row) -> i64,
    ) -> Self {
        Self { column: Column::new(head, head, width, text).on_the_right(), number: Some(number) }
    }
}

/// The head of a column.
pub(super) struct Head {
    pub(super) text: &'static str,
    pub(super) right: bool,
    pub(super) width: usize,
}

/// What a column is sorted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i64),
    Text(String),
}

/// A row with its mark on the map.
pub(super) struct Row {
    pub(super) mark: (Tone, char),
    pub(super) cells: Vec<String>,
    keys: Vec<Key>,
}

/// A list with the texts of all cells.
#[derive(Default)]
pub(super) struct Table {
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// The table of these rows, each with its mark.
    pub(super) fn new<R>(view: &View<'_>, fields: &[Field<R>], rows: &[((Tone, char), R)]) -> Self {
        let utf8 = view.surroundings.utf8();
        let cell = |field: &Field<R>, row: &R| {
            let text = (field.column.text)(row, view);
            let text = safe::cut(if text.is_empty() { "-" } else { &text }, field.column.width);
            if utf8 { text } else { safe::ascii(&text) }
        };
        let row = |(mark, row): &((Tone, char), R)| {
            let cells: Vec<_> = fields.iter().map(|field| cell(field, row)).collect();
            let key = |(field, cell): (&Field<R>, &String)| match field.number {
                Some(number) => Key::Number(number(row)),
                None => Key::Text(cell.to_lowercase()),
            };
            let keys = fields.iter().zip(&cells).map(key).collect();
            Row { mark: *mark, cells, keys }
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let head = |(place, field): (usize, &Field<R>)| {
            let widest = rows.iter().map(|row| safe::width(&row.cells[place])).max().unwrap_or(0);
            let Column { head: text, right, .. } = field.column;
            Head { text, right, width: widest.max(text.len()) }
        };
        let heads = fields.iter().enumerate().map(head).collect();
        Self { heads, rows }
    }

    /// The rows that contain this text in small letters, sorted by a column or in their own order.
    pub(super) fn arranged(&self, filter: &str, order: Order) -> Vec<usize> {
        let mut places: Vec<_> =
            (0..self.rows.len()).filter(|row| self.rows[*row].contains(filter)).collect();
        if let Some(column) = order.column {
            places.sort_by(|one, other| {
                self.rows[*one].keys.get(column).cmp(&self.rows[*other].keys.get(column))
            });
        }
        if order.reversed {
            places.reverse();
        }
        places
    }
}

impl Row {
    /// Whether a cell contains this text in small letters.
    pub(super) fn contains(&self, text: &str) -> bool {
        text.is_empty() || self.cells.iter().any(|cell| cell.to_lowercase().contains(text))
    }
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// The column that decides. None for the list's own order.
    pub(super) column: Option<usize>,
    pub(super) reversed: bool,
}
