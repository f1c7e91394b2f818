//! What lies over the screen for a while: a menu, or the help.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::keys::Menu;
use super::paint::{CHOSEN, Paint};
use crate::safe;

/// The help.
pub(super) const HELP: &str = "\
svipu top shows the status document of slurmctld, as soon as it changes.

q F10 Ctrl-C        quit                  Tab      the other list
Up Down PgUp PgDn   move in the list      F3 /     search; F3 finds the next
Home End            go to its ends        F4 \\     show only rows with a text
Enter               all about the job     Ctrl-U   show all rows again
m Right, Left       next, previous Pod    F6 >     sort; once more: reversed
Space               pause, go on          u        show the jobs of one user
Ctrl-Z              back to the shell     F1 h ?   this help

The map has a mark for each IPU, in rows of IPU-Link domains.
  A-Z a-z       used by a job, yours bold; no coloured block: being made
  +  prepared for a job without nodes     =  kept for a failed job
  -  leaving: being removed               #  of a partition without a job
  !  faulty, at an assumed place          ?  suspected after a refusal
  :  of other users, if you chose one     .  free    /  drained
A place with ~ is assumed: the controller has not listed the partition yet.

FOR        the time in this state       LEFT       until its latest end
STARTS_IN  the forecast for the IPUs; nodes and other needs may take longer

used, waiting   IPUs in use and jobs in line in the last hour";

/// Draws a text over all but the last line, from one of its lines on.
pub(super) fn text(frame: &mut Frame<'_>, text: &str, first: u16, paint: &Paint) {
    let mut area = frame.area();
    area.height = area.height.saturating_sub(1);
    frame.render_widget(Clear, area);
    let mut page = paint.page();
    text.lines().for_each(|line| page.line(line));
    let text = Paragraph::new(paint.text(page.lines())).wrap(Wrap { trim: false });
    frame.render_widget(text.scroll((first, 0)), area);
}

/// Draws a menu above the last line.
pub(super) fn menu(frame: &mut Frame<'_>, menu: &Menu, paint: &Paint) {
    let screen = frame.area();
    let widest = menu.entries.iter().map(|(text, _)| safe::width(&safe::cut(text, 24))).max();
    let width =
        u16::try_from(widest.unwrap_or(0).max(menu.title.len()) + 4).unwrap_or(u16::MAX).min(screen.width);
    let wanted = u16::try_from(menu.entries.len() + 2).unwrap_or(u16::MAX);
    let height = wanted.min(screen.height.saturating_sub(2));
    let area = Rect { x: 0, y: screen.height - 1 - height, width, height };
    frame.render_widget(Clear, area);
    frame.render_widget(Block::bordered().title(menu.title), area);
    let inner = area.inner(Margin::new(1, 1));
    let first = (menu.cursor + 1).saturating_sub(inner.height.into());
    let shown = menu.entries.iter().enumerate().skip(first);
    for ((place, (text, _)), y) in shown.zip(inner.y..inner.bottom()) {
        let here = Rect { y, height: 1, ..inner };
        frame.render_widget(paint.plain(&format!(" {}", safe::cut(text, 24))), here);
        if place == menu.cursor {
            frame.buffer_mut().set_style(here, CHOSEN);
        }
    }
}
