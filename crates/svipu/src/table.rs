//! Tables with columns that the user may choose.

use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::safe;
use crate::view::View;

/// The rows of a list beside others.
const MOST_ROWS: usize = 20;

/// A column.
pub(crate) struct Column<Row> {
    /// The name in `--format`.
    pub(crate) name: &'static str,
    /// The head.
    pub(crate) head: &'static str,
    /// The greatest width.
    pub(crate) width: usize,
    /// Whether numbers stand on the right.
    pub(crate) right: bool,
    /// Whether the table has it without `--format`.
    pub(crate) usual: bool,
    /// The text of a row.
    pub(crate) text: fn(&Row, &View<'_>) -> String,
}

impl<Row> Column<Row> {
    /// A usual column of texts.
    pub(crate) const fn new(
        name: &'static str,
        head: &'static str,
        width: usize,
        text: fn(&Row, &View<'_>) -> String,
    ) -> Self {
        Self { name, head, width, right: false, usual: true, text }
    }

    /// The column with numbers on the right.
    pub(crate) const fn on_the_right(mut self) -> Self {
        self.right = true;
        self
    }

    /// The column, which only `--format` shows.
    pub(crate) const fn on_demand(mut self) -> Self {
        self.usual = false;
        self
    }
}

/// A page with only a table.
pub(crate) fn page<Row>(view: &View<'_>, columns: &[Column<Row>], rows: &[&Row]) -> Result<String, Failure> {
    let mut page = view.page();
    add(&mut page, view, columns, rows)?;
    Ok(page.finish())
}

/// Adds a table with the columns that the user chose.
pub(crate) fn add<Row>(
    page: &mut Page,
    view: &View<'_>,
    columns: &[Column<Row>],
    rows: &[&Row],
) -> Result<(), Failure> {
    let chosen = choose(columns, view.common.format.as_deref())?;
    let cell = |row: &Row, column: &Column<Row>| {
        let text = (column.text)(row, view);
        safe::cut(if text.is_empty() { "-" } else { &text }, column.width)
    };
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| chosen.iter().map(|column| cell(row, column)).collect()).collect();
    let heads: Vec<String> = chosen.iter().map(|column| column.head.to_owned()).collect();
    let head = view.has_header().then_some(&heads);
    let width = |place: usize| {
        let texts = cells.iter().chain(head).map(|row| safe::width(&row[place]));
        texts.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..chosen.len()).map(width).collect();
    if let Some(head) = head {
        page.toned(&[(Tone::Bold, &joined(head, &chosen, &widths))]);
    }
    cells.iter().for_each(|row| page.line(&joined(row, &chosen, &widths)));
    Ok(())
}

/// Adds a list with its heading, if it has rows. `all` is the command that shows the rows that are left out.
pub(crate) fn list<Row>(
    page: &mut Page,
    view: &View<'_>,
    heading: &str,
    columns: &[Column<Row>],
    rows: &[&Row],
    all: &str,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let (some, more) = rows.split_at(rows.len().min(MOST_ROWS));
    page.line("");
    page.toned(&[(Tone::Bold, heading)]);
    add(page, view, columns, some)?;
    if !more.is_empty() {
        page.line(&format!("and {} more: svipu {all}", more.len()));
    }
    Ok(())
}

fn joined<Row>(cells: &[String], columns: &[&Column<Row>], widths: &[usize]) -> String {
    let mut line = String::new();
    for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
        let gap = " ".repeat(width.saturating_sub(safe::width(cell)));
        line += &if column.right { gap + cell } else { cell.clone() + &gap };
        line += "  ";
    }
    line.trim_end().to_owned()
}

fn choose<'a, Row>(
    columns: &'a [Column<Row>],
    format: Option<&str>,
) -> Result<Vec<&'a Column<Row>>, Failure> {
    let Some(format) = format else { return Ok(columns.iter().filter(|column| column.usual).collect()) };
    let named = |name: &str| {
        let name = name.trim();
        let known = || columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
        let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        column.ok_or_else(|| Failure::Column { name: format!("'{}'", safe::cut(name, 40)), known: known() })
    };
    format.split(',').map(named).collect()
}
