//! The pictures of `svipu top`, and what the keys do to them.

use std::time::Duration;

use clap::Parser as _;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier, Style};
use svipu::{Arguments, Next, Top};
use vipu_status::{Minute, Status};

use super::documents::{empty, hostile, lost, pod64, pod1024};
use super::{NOW, run, surroundings};

const USUAL: (u16, u16) = (80, 24);

/// An hour in which jobs came and went, with a gap of ten minutes.
fn with_history(mut status: Status) -> Status {
    let minute = |ago: u32| Minute { at: NOW - i64::from(60 * ago), used: 64 - ago, waiting: ago % 7 };
    status.models[0].last_hour = (0..60).rev().filter(|ago| !(30..40).contains(ago)).map(minute).collect();
    status
}

/// A document with two models.
fn two_models() -> Status {
    let mut status = pod64();
    let mut other = status.models[0].clone();
    other.name = "pod16".into();
    other.pods[0].controller = "vipu16:8090".into();
    status.models.push(other);
    status
}

fn start(line: &str, status: Status) -> Top {
    let words = ["svipu", "top"].into_iter().chain(line.split_whitespace());
    Top::new(&Arguments::try_parse_from(words).unwrap(), surroundings(&[]), status).unwrap()
}

fn draw(top: &mut Top, (width, height): (u16, u16)) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| top.draw(frame)).unwrap();
    terminal.backend().clone()
}

fn picture(top: &mut Top, size: (u16, u16)) -> String {
    draw(top, size).to_string()
}

/// Presses keys: characters as themselves, and others by name in brackets.
fn press(top: &mut Top, keys: &str) -> Next {
    let mut next = Next::Stay;
    for word in keys.split_whitespace() {
        let named = |code| vec![code];
        let codes = match word {
            "<Up>" => named(KeyCode::Up),
            "<Down>" => named(KeyCode::Down),
            "<PgUp>" => named(KeyCode::PageUp),
            "<PgDn>" => named(KeyCode::PageDown),
            "<Home>" => named(KeyCode::Home),
            "<End>" => named(KeyCode::End),
            "<Left>" => named(KeyCode::Left),
            "<Right>" => named(KeyCode::Right),
            "<Tab>" => named(KeyCode::Tab),
            "<Enter>" => named(KeyCode::Enter),
            "<Esc>" => named(KeyCode::Esc),
            "<Back>" => named(KeyCode::Backspace),
            "<Space>" => named(KeyCode::Char(' ')),
            "<F1>" => named(KeyCode::F(1)),
            "<F3>" => named(KeyCode::F(3)),
            "<F4>" => named(KeyCode::F(4)),
            "<F6>" => named(KeyCode::F(6)),
            "<F10>" => named(KeyCode::F(10)),
            "<Ctrl-U>" => {
                next = top.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
                continue;
            }
            text => text.chars().map(KeyCode::Char).collect(),
        };
        for code in codes {
            next = top.key(KeyEvent::from(code));
        }
    }
    next
}

/// The first words of the row that is shown as chosen.
fn chosen(top: &mut Top) -> String {
    let buffer = draw(top, USUAL).buffer().clone();
    let reversed = |y| buffer[(0, y)].modifier.contains(Modifier::REVERSED);
    let row = (0..USUAL.1 - 1).find(|y| reversed(*y)).unwrap();
    let text: String = (0..USUAL.0).map(|x| buffer[(x, row)].symbol()).collect();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn cli_svipu_top_on_a_usual_terminal() {
    assert_snapshot!(picture(&mut start("", with_history(pod64())), USUAL));
}

#[test]
fn cli_svipu_top_on_a_large_terminal() {
    let mut top = start("", with_history(pod64()));
    press(&mut top, "<Tab>");
    assert_snapshot!(picture(&mut top, (120, 36)));
    let mut top = start("", with_history(pod1024(64)));
    assert_snapshot!(picture(&mut top, (200, 50)));
}

#[test]
fn cli_svipu_top_on_small_terminals() {
    let mut top = start("", with_history(lost()));
    assert_snapshot!(picture(&mut top, (40, 10)) + &picture(&mut top, (29, 7)));
}

#[test]
fn cli_svipu_top_with_1024_ipus() {
    assert_snapshot!(picture(&mut start("", with_history(pod1024(64))), USUAL));
}

#[test]
fn cli_svipu_top_with_troubles_and_with_nothing() {
    assert_snapshot!(picture(&mut start("", lost()), USUAL) + &picture(&mut start("", empty()), USUAL));
}

#[test]
fn cli_svipu_top_with_hostile_names() {
    let mut top = start("", hostile());
    press(&mut top, "<Tab>");
    let text = picture(&mut top, (120, 24));
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}' && c != '\u{301}'),
        "{text:?}"
    );
    assert_snapshot!(text);
}

#[test]
fn cli_svipu_top_with_hidden_owners() {
    assert_snapshot!(picture(&mut start("--me", pod64().without_owners()), USUAL));
}

#[test]
fn cli_svipu_top_explains_its_keys_and_marks() {
    let mut top = start("", pod64());
    press(&mut top, "h");
    assert_snapshot!(picture(&mut top, USUAL));
    assert_eq!(press(&mut top, "q"), Next::Stay, "a key leaves the help only");
    assert_eq!(press(&mut top, "q"), Next::Quit);
}

#[test]
fn cli_svipu_top_draws_each_size() {
    for status in [with_history(pod64()), pod1024(1024), lost(), hostile(), empty()] {
        let mut top = start("", status);
        for keys in ["<Esc>", "<Tab> <End>", "<Enter>", "<Esc> <F6>", "<Esc> u", "<Esc> h", "<Esc> / x"] {
            press(&mut top, keys);
            for width in [1, 2, 13, 29, 30, 31, 47, 80, 200] {
                for height in [1, 2, 7, 8, 9, 23, 60] {
                    draw(&mut top, (width, height));
                }
            }
        }
    }
}

#[test]
fn cli_svipu_top_colours_follow_the_option() {
    let colours = |line: &str, locale: &str| {
        let mut around = surroundings(&[]);
        around.variables.insert("LANG".into(), locale.into());
        let words = ["svipu", "top"].into_iter().chain(line.split_whitespace());
        let status = with_history(pod64());
        let mut top = Top::new(&Arguments::try_parse_from(words).unwrap(), around, status).unwrap();
        press(&mut top, "u");
        let backend = draw(&mut top, USUAL);
        let cells = backend.buffer().content.clone();
        (cells.iter().any(|cell| cell.fg != Color::Reset), cells.iter().all(|cell| cell.symbol().is_ascii()))
    };
    assert_eq!(colours("--color always", "C.UTF-8"), (true, false));
    assert_eq!(colours("--color never", "C"), (false, true));
}

#[test]
fn cli_svipu_top_gives_neighbours_other_colours() {
    let map = |line: &str| draw(&mut start(line, pod1024(64)), USUAL).buffer().content[80..].to_vec();
    let jobs: Vec<_> =
        map("--color always")[3..66].iter().step_by(2).map(ratatui::buffer::Cell::style).collect();
    assert!(jobs.windows(2).all(|pair| pair[0].bg != pair[1].bg), "{jobs:?}");
    let bold = |style: &Style| style.add_modifier.contains(Modifier::BOLD);
    assert_eq!(
        jobs.iter().map(bold).collect::<Vec<_>>()[..3],
        [true, false, false],
        "alice has job 100 only"
    );
    assert!(map("--color never").iter().all(|cell| cell.bg == Color::Reset && cell.fg == Color::Reset));
}

#[test]
fn cli_svipu_top_tells_all_about_a_job() {
    let mut top = start("--color always", pod64());
    press(&mut top, "<Tab> <Enter>");
    assert_snapshot!(picture(&mut top, USUAL));
    press(&mut top, "<Down>");
    assert!(!picture(&mut top, USUAL).contains("Job 30 of bob waits"), "the text moves");
    assert_eq!(press(&mut top, "<Esc>"), Next::Stay);
    assert!(picture(&mut top, USUAL).contains("[Waiting jobs 3]"));
    press(&mut top, "<Tab> <Enter>");
    assert!(picture(&mut top, USUAL).contains("Job 20 of alice does not wait: it has run for 10 min"));
}

#[test]
fn cli_svipu_top_shows_only_columns_that_tell_something() {
    let mut status = pod64();
    status.partitions[3].reason = None;
    let head = |status: &Status| {
        let text = picture(&mut start("", status.clone()), USUAL);
        text.lines().find(|line| line.contains("JOB")).unwrap().to_owned()
    };
    assert!(head(&pod64()).contains("REASON"));
    assert!(!head(&status).contains("REASON"));
}

#[test]
fn cli_svipu_top_tells_first_what_a_job_lacks() {
    let mut status = pod64();
    let long = "32 free, largest block 16; 16 kept of failed jobs; 8 drained";
    status.line[0].reason = Some(format!("vipu: 32 IPUs of pod64 needed, {long}").into());
    let mut top = start("", status);
    press(&mut top, "<Tab>");
    let text = picture(&mut top, USUAL);
    assert!(
        text.contains("32 free, largest block 16; 16 kep...\"") && text.contains("kept for job 30  "),
        "{text}"
    );
    assert!(picture(&mut top, (120, 24)).contains(long));
}

#[test]
fn cli_svipu_top_marks_the_whole_line() {
    let buffer = draw(&mut start("", pod64()), USUAL).buffer().clone();
    let reversed = |y| (0..USUAL.0).filter(|x| buffer[(*x, y)].modifier.contains(Modifier::REVERSED)).count();
    assert!((0..USUAL.1 - 1).any(|y| reversed(y) == usize::from(USUAL.0)));
}

#[test]
fn cli_svipu_top_as_a_picture() {
    for status in [with_history(pod64()), pod1024(1024), lost(), hostile(), empty()] {
        let svg = start("", status).svg();
        roxmltree::Document::parse(&svg).unwrap();
    }
    let svg = start("", with_history(pod64())).svg();
    let svg = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<_> = svg.descendants().filter(|node| node.has_tag_name("text")).collect();
    let has = |text: &str, class: Option<&str>| {
        texts.iter().any(|node| node.text() == Some(text) && node.attribute("class") == class)
    };
    assert!(has("pod64", Some("b")), "the title is bold");
    assert!(has("21", None) && has("bob", None), "a partition with its job and user");
    assert!(has("AAAAAAAAAAAAAAAA", Some("k b")), "an own job is bold, on a block");
    assert!(has("BBBBBBBB++++", Some("c8")), "a partition in the making has no block");
    let areas = |class| svg.descendants().filter(|node| node.attribute("class") == Some(class)).count();
    // The third one is in the numbers by use.
    assert_eq!((areas("j0"), areas("j1")), (3, 1), "a block on the map, and one in the list");
    assert!(areas("t4") > 1 && areas("axis") > 1, "the last hour is made of bars, with an axis");
    assert_eq!(texts.iter().filter(|node| node.text() == Some("ago")).count(), 1, "the age is told once");
    let dull = start("--color never", pod64()).svg();
    assert!(!dull.contains("class=\"j0\""));
}

#[test]
fn cli_svipu_top_keys_move_in_the_list() {
    let mut top = start("", pod1024(64));
    for (keys, row) in [
        ("<Up>", "A 100"),
        ("<Down>", "B 101"),
        ("<PgDn>", "E 104"),
        ("<PgUp>", "B 101"),
        ("<End>", "f 599"),
        ("<Down>", "f 599"),
        ("<Home>", "A 100"),
    ] {
        press(&mut top, keys);
        assert_eq!(chosen(&mut top), row, "{keys}");
    }
}

#[test]
fn cli_svipu_top_keys_search_and_filter() {
    let mut top = start("", pod64());
    for (keys, row) in [
        ("/ BOB", "B 21"),
        ("<F3>", "+ 22"),
        ("<F3>", "B 21"),
        ("<Back> <Back> <Back> kept", "= 23"),
        ("<Enter> <F4> bob", "+ 22"),
        ("<Esc>", "B 21"),
        ("\\ bob <Enter> <Home>", "B 21"),
        ("<F4> <Back> <Back> <Back> <Enter> <Home>", "A 20"),
    ] {
        press(&mut top, keys);
        assert_eq!(chosen(&mut top), row, "{keys}");
    }
    press(&mut top, "<F4> alice <Enter> <Space>");
    assert!(picture(&mut top, USUAL).contains("[Partitions 2 of 5]"));
    assert!(picture(&mut top, USUAL).contains("PAUSED"));
    press(&mut top, "/ zzz");
    assert!(picture(&mut top, USUAL).contains("No row has this text. Search: zzz"));
    press(&mut top, "<Ctrl-U> BOB");
    assert!(picture(&mut top, USUAL).contains("No row has this text. Search: BOB"), "the filter hides bob");
    press(&mut top, "<Enter> <F4> <Ctrl-U> <Enter>");
    assert!(picture(&mut top, USUAL).contains("[Partitions 5]"));
    press(&mut top, "<F4> bob <Enter> <Ctrl-U>");
    assert!(
        picture(&mut top, USUAL).contains("[Partitions 5]"),
        "the keys of the list clear the filter, too"
    );
}

#[test]
fn cli_svipu_top_keys_choose_order_and_user() {
    let mut top = start("", pod64());
    press(&mut top, "<F6>");
    assert_snapshot!(picture(&mut top, USUAL));
    press(&mut top, "<Down> <Down> <Down> <Down> <Enter>");
    assert_eq!(chosen(&mut top), "+ 22", "the smallest first");
    press(&mut top, "> <Enter>");
    assert_eq!(chosen(&mut top), "A 20", "the largest first");
    assert!(picture(&mut top, USUAL).contains("by IPUS reversed"));
    press(&mut top, "u <End> <Enter>");
    let text = picture(&mut top, USUAL);
    assert!(text.contains("user bob") && text.contains("::::::::::::::::AAAAAAAA++++"), "{text}");
}

#[test]
fn cli_svipu_top_keys_choose_list_and_pod() {
    let mut top = start("-M pod16", two_models());
    let title = |top: &mut Top| picture(top, USUAL).lines().next().unwrap().to_owned();
    assert!(title(&mut top).contains("pod16 on vipu16:8090 (Pod 2 of 2)"));
    press(&mut top, "<Right>");
    assert!(title(&mut top).contains("pod64 on vipu:8090 (Pod 1 of 2)"));
    press(&mut top, "<Left> m");
    assert!(title(&mut top).contains("pod64 on"));
    press(&mut top, "<Tab>");
    assert!(picture(&mut top, USUAL).contains("[Waiting jobs 3]"));
    assert_eq!(top.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::Quit);
    assert_eq!(top.key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)), Next::Suspend);
    assert_eq!(press(&mut top, "/ <F10>"), Next::Quit);
}

#[test]
fn cli_svipu_top_keeps_the_last_good_document() {
    let mut top = start("", two_models());
    press(&mut top, "<Right>");
    press(&mut top, "<Space>");
    top.tick(NOW + 60);
    assert!(!picture(&mut top, USUAL).contains("slurmctld may be down"), "the screen is held still");
    press(&mut top, "<Space>");
    top.document(Err("it is no status document".into()));
    top.tick(NOW + 60);
    let text = picture(&mut top, USUAL);
    assert!(text.contains("no new document: it is no status document"), "{text}");
    assert!(text.contains("the status is 1 min old: slurmctld may be down"), "{text}");
    assert!(text.contains("as of 1 min ago"), "{text}");
    let mut newer = pod64();
    newer.written = NOW + 60;
    top.document(Ok(newer));
    let text = picture(&mut top, USUAL);
    assert!(text.contains("pod64 on vipu:8090, ") && !text.contains("no new document"), "{text}");
}

#[test]
fn cli_svipu_top_needs_a_terminal() {
    let output = run(&pod64(), "top");
    assert_eq!(output.exit, 2);
    assert!(output.stderr.contains("it needs a terminal as standard input and output"), "{}", output.stderr);
}

#[test]
fn cli_svipu_top_tells_of_a_read_that_hangs() {
    let mut top = start("", pod64());
    let before = picture(&mut top, USUAL);
    top.reading(Some(Duration::from_millis(2999)));
    assert_eq!(picture(&mut top, USUAL), before);
    top.reading(Some(Duration::from_secs(61)));
    let note = "no new document: its read has not ended for 1 min: its server or network may hang";
    let text = picture(&mut top, USUAL);
    assert!(text.contains(&note[..70]), "{text}");
    top.reading(None);
    assert_eq!(picture(&mut top, USUAL), before);
}
