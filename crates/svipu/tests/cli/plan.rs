//! `svipu plan`: and the pictures of map and plan.

use insta::assert_snapshot;
use vipu_status::{State, Status};

use super::documents::{WRITTEN, hostile, lost, partition, places, pod64, pod1024, waiting};
use super::why::{busy, planned};
use super::{printed, run, run_in, surroundings};

/// Jobs of different lengths wait behind two that run.
fn crowd() -> Status {
    let mut status = busy();
    status.line[0].duration = 7200;
    status.line[1].behind = None;
    let more = [(32, 1000, 32, 3600), (33, 1001, 8, 14_400), (34, 1000, 8, 600), (35, 1001, 16, 90_000)];
    status.line.extend(more.map(|(id, user, size, duration)| {
        let mut row = waiting(id, user, size, "Priority");
        row.duration = duration;
        row
    }));
    planned(status)
}

#[test]
fn cli_svipu_plan_of_the_next_hours() {
    let lines = ["plan", "plan --hours 3", "plan --hours 48", "plan -u bob"];
    let text = |line: &str| format!("$ svipu {line}\n{}\n", printed(&run(&crowd(), line)));
    assert_snapshot!(lines.map(text).concat() + &run(&pod1024(16), "plan").stdout);
}

#[test]
fn cli_svipu_plan_names_as_many_jobs_as_the_terminal_has_room_for() {
    let mut status = crowd();
    let rows = vec![status.line[0].clone(); 40];
    status.line.extend(rows);
    let is_cut = |rows| {
        let around = svipu::Surroundings { size: Some((80, rows)), ..surroundings(&[]) };
        run_in(&status, "plan", &around).stdout.contains("more jobs: svipu plan --all")
    };
    assert_eq!((is_cut(24), is_cut(60)), (true, false));
}

#[test]
fn cli_svipu_shows_idle_partitions() {
    let mut status = pod64();
    status.models[0].pods[0].ipus.idle = 8;
    let mut idle = partition(17, 1000, State::Idle, places(0, 48, 8));
    (idle.job, idle.ends) = (None, None);
    status.partitions.push(idle);
    let lines = ["status", "map", "map --me", "map --all", "plan", "ipu 0:48", "partitions", "why 30"];
    let text = |line: &str| format!("$ svipu {line}\n{}\n", printed(&run(&status, line)));
    assert_snapshot!(lines.map(text).concat());
}

#[test]
fn cli_svipu_plan_fits_a_terminal() {
    for status in [crowd(), pod64(), lost(), hostile(), pod1024(2), pod1024(64), pod1024(1024)] {
        let text = run(&status, "plan").stdout;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        let pods = status.models[0].pods.len();
        assert!(widest <= 80 && text.lines().count() <= 24 * pods, "{widest}\n{text}");
    }
}

/// What is to come does not cover what is, however soon it comes.
#[test]
fn cli_svipu_plan_begins_with_the_present() {
    let mut status = crowd();
    status.partitions[0].ends = Some(WRITTEN + 4);
    let text = run(&planned(status), "plan").stdout;
    let row = text.lines().find(|line| line.starts_with("0:0-")).unwrap();
    assert!(row.contains(" A"), "{text}");
}

/// Each picture is XML whose parts lie inside it, whatever names the document has.
#[test]
fn cli_svipu_pictures_are_whole() {
    for status in [crowd(), pod64(), lost(), hostile(), pod1024(2), pod1024(64), pod1024(1024)] {
        for line in ["map --svg -", "plan --svg -"] {
            let text = run(&status, line).stdout;
            let picture = roxmltree::Document::parse(&text).unwrap();
            let number = |node: roxmltree::Node<'_, '_>, name: &str| {
                node.attribute(name).unwrap().parse::<i64>().unwrap()
            };
            let (width, height) =
                (number(picture.root_element(), "width"), number(picture.root_element(), "height"));
            let areas: Vec<_> = picture.descendants().filter(|node| node.has_tag_name("rect")).collect();
            assert!(areas.len() > 1, "{line}");
            for area in areas {
                let right = number(area, "x") + number(area, "width");
                let below = number(area, "y") + number(area, "height");
                assert!(right <= width - 12 && below <= height - 12, "{line}: {right} {below}");
            }
        }
    }
}

#[test]
fn cli_svipu_pictures_name_jobs_but_not_those_of_hidden_owners() {
    let text = |status: &Status, line: &str| run(status, line).stdout;
    for line in ["map --svg -", "plan --svg -"] {
        assert!(text(&crowd(), line).contains("20 alice"), "{line}");
        assert!(!text(&crowd().without_owners(), line).contains("alice"), "{line}");
    }
}
