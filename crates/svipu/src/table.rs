//! Tables with columns that the user may choose.

use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::safe;
use crate::view::View;

/// The rows of a list beside others.
const MOST_ROWS: usize = 20;

/// The least width in which a text can be read.
const LEAST: usize = 28;

/// When a table has a column without `--format`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usual {
    Always,
    /// If a row has something there.
    IfTold,
    /// Unless the terminal is too narrow and all rows say the same there.
    IfRoom,
    OnDemand,
}

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
    pub(crate) usual: Usual,
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
        Self { name, head, width, right: false, usual: Usual::Always, text }
    }

    /// The column with numbers on the right.
    pub(crate) const fn on_the_right(mut self) -> Self {
        self.right = true;
        self
    }

    /// The column, which is there only then.
    pub(crate) const fn only(mut self, usual: Usual) -> Self {
        self.usual = usual;
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
    let mut chosen = match view.common.format.as_deref() {
        Some(format) => choose(columns, format)?,
        None => columns.iter().filter(|column| column.usual != Usual::OnDemand).collect(),
    };
    let cell = |row: &Row, column: &Column<Row>| {
        let text = (column.text)(row, view);
        safe::cut(if text.is_empty() { "-" } else { &text }, column.width)
    };
    let cells = |column: &Column<Row>| rows.iter().map(|row| cell(row, column)).collect::<Vec<_>>();
    let width = |column: &Column<Row>| {
        let head = if view.has_header() { column.head.len() } else { 0 };
        cells(column).iter().map(|text| safe::width(text)).max().unwrap_or(0).max(head)
    };
    let terminal = view.surroundings.size.map_or(usize::MAX, |(columns, _)| columns.into());
    let is_wide = |columns: &[&Column<Row>]| {
        columns.iter().map(|column| width(column) + 2).sum::<usize>() > terminal.saturating_add(2)
    };
    if view.common.format.is_none() {
        chosen.retain(|column| column.usual != Usual::IfTold || cells(column).iter().any(|text| text != "-"));
        let is_wide = is_wide(&chosen);
        let differs = |column: &Column<Row>| !cells(column).is_sorted_by(|one, next| one == next);
        chosen.retain(|column| !is_wide || column.usual != Usual::IfRoom || differs(column));
    }
    let widths: Vec<_> = chosen.iter().map(|column| width(column)).collect();
    let is_wide = is_wide(&chosen);
    let indent = textwrap::Options::new(terminal.max(LEAST)).initial_indent("    ").subsequent_indent("    ");
    let mut add = |row: &[String], tone| {
        let line = joined(row, &chosen, &widths);
        match row.split_last().filter(|_| is_wide) {
            Some((last, others)) if last == "-" || safe::width(&line) > terminal => {
                page.toned(&[(tone, &joined(others, &chosen, &widths))]);
                let texts = textwrap::wrap(last, &indent);
                texts.iter().filter(|_| last != "-").for_each(|text| page.toned(&[(tone, text)]));
            }
            _ => page.toned(&[(tone, &line)]),
        }
    };
    if view.has_header() {
        add(&chosen.iter().map(|column| column.head.to_owned()).collect::<Vec<_>>(), Tone::Bold);
    }
    for row in rows {
        add(&chosen.iter().map(|column| cell(row, column)).collect::<Vec<_>>(), Tone::Plain);
    }
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

/// The columns that the user names, also by their heads, or as squeue does.
fn choose<'a, Row>(columns: &'a [Column<Row>], format: &str) -> Result<Vec<&'a Column<Row>>, Failure> {
    let named = |name: &str| {
        let name = name.trim();
        let known = || columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
        let is_meant = |column: &&Column<Row>| {
            let also = if column.name == "job" { "jobid" } else { column.head };
            [column.name, also].iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let column = columns.iter().find(is_meant);
        column.ok_or_else(|| Failure::Column { name: format!("'{}'", safe::cut(name, 40)), known: known() })
    };
    format.split(',').map(named).collect()
}
