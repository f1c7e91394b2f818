//! The list of partitions or of waiting jobs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Text;

use super::paint::{CHOSEN, Paint};
use crate::page::Tone;
use crate::safe;
use crate::top::state::Top;
use crate::top::table::{Head, Table};

/// The names of both lists, the numbers of their rows, and the choices of the user.
pub(super) fn tabs(top: &Top, paint: &Paint) -> Text<'static> {
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
pub(super) fn heads(top: &Top, paint: &Paint) -> Text<'static> {
    let table = &top.picture.lists[top.active];
    let cells = table.heads.iter().map(|head| head.text);
    paint.line(&[(Tone::Dim, &format!("  {}", joined(cells, &table.heads)))])
}

/// The rows that fit.
pub(super) fn rows(top: &mut Top, frame: &mut Frame<'_>, paint: &Paint, area: Rect) {
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
