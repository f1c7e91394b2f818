//! The upper part: title, notes, map, numbers and the last hour.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::bar;
use ratatui::text::Text;
use ratatui::widgets::Sparkline;

use super::paint::Paint;
use crate::document;
use crate::map::TOO_LARGE;
use crate::page::{Line, Tone};
use crate::safe;
use crate::status::NO_MODEL;
use crate::top::history::{History, MINUTES, Series};
use crate::top::notes::Note;
use crate::top::state::Top;

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
pub(super) fn title(top: &Top, paint: &Paint) -> Text<'static> {
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
    let age = document::age(&top.status, top.surroundings.now);
    paint.sides((Tone::Bold, &name), &if top.paused { format!("PAUSED, {age}") } else { age })
}

/// The notes, each on one line.
pub(super) fn notes(notes: &[Note], paint: &Paint) -> Text<'static> {
    let mut page = paint.page();
    notes.iter().for_each(|(tone, text)| page.toned(&[(*tone, &safe::cut(text, paint.width))]));
    paint.text(page.lines())
}

/// The lines of the map.
pub(super) fn map(top: &Top, paint: &Paint) -> Vec<Line> {
    let mut page = paint.page();
    match (&top.picture.grid, top.pods().is_empty()) {
        (Some(grid), _) => drop(grid.add(&mut page, paint.width)),
        (None, true) => page.line(NO_MODEL),
        (None, false) => page.line(TOO_LARGE),
    }
    page.lines()
}

/// So many lines of the map. The last one tells how many are left out.
pub(super) fn cut(mut lines: Vec<Line>, height: u16, paint: &Paint) -> Text<'static> {
    let shown = usize::from(height);
    if lines.len() > shown {
        lines.truncate(shown.saturating_sub(1));
        lines.push(vec![(Tone::Dim, "... a larger terminal shows the whole map".to_owned())]);
    }
    paint.text(lines)
}

/// The numbers by use, in as many lines as they need.
pub(super) fn numbers(top: &Top, paint: &Paint) -> Text<'static> {
    let mut lines: Vec<Line> = vec![Line::new()];
    let mut used = 0;
    for (tone, mark, words) in &top.picture.numbers {
        let width = mark.len() + 1 + words.len();
        if used > 0 && used + 2 + width > paint.width {
            lines.push(Line::new());
            used = 0;
        }
        let Some(line) = lines.last_mut() else { continue };
        let gap = if used > 0 { "  " } else { "" };
        used += gap.len() + width;
        line.extend([
            (Tone::Plain, gap.to_owned()),
            (*tone, mark.clone()),
            (Tone::Plain, format!(" {words}")),
        ]);
    }
    paint.text(lines)
}

/// The last hour: IPUs in use, and jobs in line.
pub(super) fn history(frame: &mut Frame<'_>, history: &History, paint: &Paint, used: Rect, waiting: Rect) {
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
