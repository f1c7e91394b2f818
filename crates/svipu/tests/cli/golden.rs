//! What each command prints.

use insta::assert_snapshot;
use vipu_status::{Drain, License, LicenseReservation, Place};

use super::documents::{empty, hostile, lost, pod64, pod1024, pool, waiting};
use super::{NOW, printed, run, run_in, surroundings};

const COMMANDS: [&str; 12] = [
    "status",
    "queue",
    "partitions",
    "map",
    "job 20",
    "partition slurm_23",
    "why 20",
    "why 30",
    "plan",
    "ipu 0:3",
    "ipu 0.40",
    "user 1001",
];

/// All commands, one after the other.
fn all(status: &vipu_status::Status) -> String {
    let text = |line: &str| format!("$ svipu {line}\n{}\n", printed(&run(status, line)));
    COMMANDS.map(text).concat()
}

#[test]
fn cli_svipu_commands_with_64_ipus() {
    assert_snapshot!(all(&pod64()));
}

#[test]
fn cli_svipu_commands_with_an_empty_document() {
    assert_snapshot!(all(&empty()));
}

#[test]
fn cli_svipu_commands_with_a_lost_controller() {
    assert_snapshot!(all(&lost()));
}

#[test]
fn cli_svipu_shows_the_partitions_of_a_pool() {
    let mut status = pool();
    let part = |partition: &str| Drain { partition: Some(partition.into()), ..drain(None, None, None) };
    // A job has p16_2, so that only p16_1 is drained yet.
    status.drains = vec![part("p16_1"), part("p16_2")];
    (status.models[0].largest_now, status.models[0].pods[0].largest_free) = (0, 0);
    (status.models[0].pods[0].ipus.free, status.models[0].pods[0].ipus.drained) = (0, 16);
    let texts = [
        (&pool(), "status"),
        (&pool(), "when --ipus 2 --time 60"),
        (&status, "status"),
        (&status, "map"),
        (&status, "ipu 0:3"),
    ];
    let texts = texts.map(|(status, line)| format!("$ svipu {line}\n{}\n", printed(&run(status, line))));
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_commands_with_hidden_owners() {
    let text = all(&pod64().without_owners());
    assert!(!text.contains("alice") && !text.contains("bob"), "{text}");
    assert_snapshot!(text);
}

#[test]
fn cli_svipu_commands_with_hostile_names() {
    let text = all(&hostile());
    let harmless =
        |text: &str| text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}' && c != '\u{301}');
    assert!(harmless(&text), "{text:?}");
    assert_snapshot!(text);
}

#[test]
fn cli_svipu_when_ipus_are_there() {
    let lines = ["--ipus=8 -t 60", "--ipus=64 -t 2:00:00", "--ipus=128 -t 1", "--ipus=8 -t 60 --json"];
    let text =
        |line: &str| format!("$ svipu when {line}\n{}\n", printed(&run(&pod64(), &format!("when {line}"))));
    let unknown =
        printed(&run(&empty(), "when --ipus=1 -t 1")) + &printed(&run(&lost(), "when --ipus=1 -t 1"));
    assert_snapshot!(lines.map(text).concat() + &unknown);
}

#[test]
fn cli_svipu_status_and_map_with_1024_ipus() {
    let status = pod1024(64);
    assert_snapshot!(printed(&run(&status, "status")) + &printed(&run(&status, "map")));
}

#[test]
fn cli_svipu_status_shows_the_first_of_many_own_partitions() {
    let mut around = surroundings(&[]);
    around.user = 1001;
    let text = run_in(&pod1024(64), "status", &around).stdout;
    assert!(text.ends_with("\nand 475 more: svipu partitions --me\n"), "{text}");
}

#[test]
fn cli_svipu_map_fits_a_terminal() {
    for domain_size in [2, 4, 8, 16, 32, 64, 128, 1024] {
        let text = run(&pod1024(domain_size), "map").stdout;
        let lines: Vec<_> = text.lines().collect();
        let widest = lines.iter().map(|line| line.len()).max().unwrap();
        assert!(lines.len() <= 24 && widest <= 80, "{domain_size}: {} lines, {widest}\n{text}", lines.len());
    }
}

#[test]
fn cli_svipu_map_with_each_mark_fits_a_terminal() {
    for status in [pod64(), lost(), hostile()] {
        let text = run(&status, "map").stdout;
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}

#[test]
fn cli_svipu_map_leaves_the_rest_of_a_part_of_a_domain_blank() {
    let mut status = pod64();
    status.models[0].pods[0].ipus.total = 96;
    let text = run(&status, "map").stdout;
    assert!(text.contains(&format!("\n1 {}\n", ".".repeat(32))), "{text}");
}

#[test]
fn cli_svipu_hidden_owners_are_told_to_who_asks_for_a_user() {
    let output = run(&pod64().without_owners(), "queue --me --noheader");
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr, "svipu: the document hides the owners of 8 jobs, so that they are left out\n");
}

#[test]
fn cli_svipu_map_of_small_domains() {
    assert_snapshot!(run(&pod1024(16), "map").stdout);
}

#[test]
fn cli_svipu_whole_legend_and_legend_of_one_user() {
    assert_snapshot!(run(&pod64(), "map --all").stdout + &run(&pod64(), "map -u bob").stdout);
}

fn drain(controller: Option<&str>, place: Option<Place>, until: Option<i64>) -> Drain {
    Drain {
        model: "pod64".into(),
        controller: controller.map(Into::into),
        place,
        partition: None,
        reason: "new firmware".into(),
        by: "root".into(),
        since: NOW - 600,
        until,
    }
}

fn place(index: u32) -> Option<Place> {
    Some(Place { domain: 0, index })
}

/// A drained IPU that a job has keeps the mark of the job until its end.
#[test]
fn cli_svipu_drained_ipus_have_their_mark() {
    let mut status = pod64();
    let pod = &mut status.models[0].pods[0];
    (pod.ipus.free, pod.ipus.drained, pod.others[0].leaving) = (10, 4, true);
    status.drains = vec![
        drain(None, place(3), None),
        drain(Some("vipu:8090"), place(61), Some(NOW + 3 * 3600)),
        Drain { reason: "\u{1b}[2Jcable".into(), ..drain(None, place(48), None) },
        drain(None, place(49), None),
        Drain { reason: "fan".into(), ..drain(None, place(60), None) },
        Drain { reason: "gone".into(), ..drain(None, place(64), None) },
    ];
    let lines = ["status", "map", "map --all", "plan"];
    let texts = lines.map(|line| format!("$ svipu {line}\n{}\n", printed(&run(&status, line))));
    let map = run(&status, "map").stdout;
    assert!(map.lines().all(|line| line.len() <= 80) && map.lines().count() <= 24, "{map}");
    let picture = run(&status, "map --svg -").stdout;
    assert!(picture.contains(">drained 4<") && picture.contains(">drained 0:60: fan<"), "{picture}");
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_drained_ipu_and_users_with_little() {
    let mut status = pod64();
    status.drains = vec![
        drain(None, None, None),
        drain(Some("vipu:8090"), place(60), Some(NOW + 600)),
        drain(Some("vipu:8090"), place(61), None),
        drain(Some("other:8090"), None, None),
    ];
    status.line[1].start = Some(NOW);
    status.line.truncate(2);
    let lines = ["ipu 0:60", "ipu 0:63", "user 4242", "user root", "user bob"];
    assert_snapshot!(
        lines.map(|line| format!("$ svipu {line}\n{}\n", printed(&run(&status, line)))).concat()
    );
    let answer: serde_json::Value = serde_json::from_str(&run(&status, "ipu 0:61 --json").stdout).unwrap();
    assert_eq!((&answer[0]["use"], answer[0]["drains"].as_array().unwrap().len()), (&"drained".into(), 2));
}

#[test]
fn cli_svipu_job_of_an_array_waits() {
    let text = |line| printed(&run(&pod64(), line));
    assert_eq!(text("job 17_3"), text("job 17"));
    assert_snapshot!(text("job 17_3") + &text("job 32+1"));
}

#[test]
fn cli_svipu_task_that_waits_with_others_is_known() {
    let mut status = pod64();
    status.line.push(vipu_status::WaitingJob { tasks: 4, ..waiting(90, 1000, 4, "vipu: no room") });
    let text = |line| printed(&run(&status, line));
    assert!(text("job 91_2").contains("unknown"));
    assert_snapshot!(text("job 90_2") + &text("why 90_2"));
}

/// The rest of the array waits in one place, of which the document has only the number of tasks.
#[test]
fn cli_svipu_task_that_runs_is_not_shown_as_waiting() {
    let mut status = pod64();
    status.line.push(vipu_status::WaitingJob { tasks: 4, ..waiting(90, 1000, 4, "vipu: no room") });
    let job = status.partitions[0].job.as_mut().unwrap();
    std::sync::Arc::make_mut(job).array = Some((90, 0));
    let jobs = |line| {
        let text = run(&status, line).stdout.to_lowercase();
        ["slurm_20", "waiting job 90", "job 90 of"].map(|part| text.contains(part))
    };
    assert_eq!(jobs("job 90_0"), [true, false, false]);
    assert_eq!(jobs("why 90_0"), [true, false, false]);
    assert_eq!(jobs("job 90"), [true, true, false]);
    assert_eq!(jobs("why 90"), [true, false, true]);
}

#[test]
fn cli_svipu_columns_and_filters() {
    let lines = [
        "queue -o job,user,size --noheader",
        "queue --me -o job,name,tier",
        "partitions -u bob",
        "partitions -u 4242 -o id,places",
        "partitions -M pod64 -o id,place,reason",
    ];
    let text = |line: &str| format!("$ svipu {line}\n{}\n", printed(&run(&pod64(), line)));
    assert_snapshot!(lines.map(text).concat());
}

#[test]
fn cli_svipu_json_is_the_part_of_the_document() {
    let status = pod64();
    let json =
        |line: &str| -> serde_json::Value { serde_json::from_str(&run(&status, line).stdout).unwrap() };
    let mut named = status.clone();
    for job in named.jobs_mut() {
        let name = [(1000, "alice"), (1001, "bob")].into_iter().find(|(user, _)| *user == job.user);
        job.user_name = name.map(|(_, name)| name.into());
    }
    let whole = serde_json::to_value(&named).unwrap();
    assert_eq!(json("--json"), whole);
    assert_eq!(json("queue --json")["line"], whole["line"]);
    assert_eq!(json("partitions --json")["written"], whole["written"]);
    assert_eq!(json("map --json")["models"], whole["models"]);
    assert_eq!(json("job 20 --json")["partitions"][0], whole["partitions"][0]);
    assert_eq!(json("partition slurm_21 --json")["partitions"][0], whole["partitions"][1]);
    assert_eq!(json("queue --me --json")["line"].as_array().unwrap().len(), 2);
}

#[test]
fn cli_svipu_json_takes_no_columns() {
    let refused = |line: &str| run(&pod64(), line).exit;
    assert_eq!((refused("queue --json -o job"), refused("partitions --json -o job")), (2, 2));
}

#[test]
fn cli_svipu_colours_follow_option_terminal_and_variable() {
    let coloured = |line: &str, terminal, no_color: Option<&str>| {
        let mut around = surroundings(&[]);
        around.terminal = terminal;
        around.variables.extend(no_color.map(|value| ("NO_COLOR".to_owned(), value.into())));
        run_in(&pod64(), line, &around).stdout.contains('\u{1b}')
    };
    assert!(!coloured("map", false, None));
    assert!(coloured("map", true, None));
    assert!(!coloured("map", true, Some("1")));
    assert!(coloured("map --color always", false, Some("1")));
    assert!(!coloured("map --color never", true, None));
}

#[test]
fn cli_svipu_map_gives_neighbours_other_colours() {
    let map = run(&pod1024(64), "map --all --color always").stdout;
    // Black letters on blocks of two IPUs. The first job is alice's.
    let blocks = ["1;38;5;16;48;5;74mAA", "38;5;16;48;5;214mBB", "38;5;16;48;5;36mCC"];
    assert!(map.contains(&format!("\u{1b}[{}", blocks.join("\u{1b}[0m\u{1b}["))), "{map}");
    let legend = "\u{1b}[1;38;5;16;48;5;74mA\u{1b}[0m 100 alice running";
    assert!(map.contains(legend), "{map}");
    let states = run(&pod64(), "map --color always").stdout;
    assert!(
        states.contains("\u{1b}[36mBBBBBBBB++++\u{1b}[0m\u{1b}[34m----"),
        "being made, being removed: {states}"
    );
    assert!(states.contains("\u{1b}[36mB\u{1b}[0m 21 bob creating"), "{states}");
}

#[test]
fn cli_svipu_bar_follows_the_locale() {
    let status = |locale: &str| {
        let mut around = surroundings(&[]);
        around.variables.insert("LC_ALL".into(), locale.into());
        run_in(&pod64(), "--color always", &around).stdout
    };
    let bar = status("de_DE.UTF-8");
    assert!(bar.contains("\u{1b}[32m█\u{1b}[0m used") && bar.contains("\u{1b}[2m░\u{1b}[0m free"), "{bar}");
    assert!(status("C").is_ascii());
    assert!(status("C").contains("UUUU"));
}

#[test]
fn cli_svipu_old_documents_are_warned_about() {
    let text = |ago: i64| {
        let mut status = empty();
        status.written -= ago;
        printed(&run(&status, "queue"))
    };
    assert!(!text(0).contains("warning"));
    assert_snapshot!(text(60) + &text(-7200));
}

#[test]
fn cli_svipu_ipu_of_one_controller() {
    let mut status = pod64();
    let second = vipu_status::Pod { controller: "vipu2:8090".into(), ..status.models[0].pods[0].clone() };
    status.models[0].pods.push(second);
    let titles = |line: &str| -> Vec<String> {
        let page = run(&status, line).stdout;
        page.lines().filter(|line| line.starts_with("IPU ")).map(str::to_owned).collect()
    };
    let (first, second) = ("IPU 0:3 of pod64 on vipu:8090", "IPU 0:3 of pod64 on vipu2:8090");
    assert_eq!(titles("ipu 0:3"), [first, second]);
    assert_eq!(titles("ipu vipu2:8090/0.3"), [second]);
    let unknown = |line: &str| printed(&run(&status, line));
    assert_snapshot!(unknown("ipu pod64/0:16") + &unknown("ipu vipu/0:16") + &unknown("ipu vipu:8090/9:9"));
}

#[test]
fn cli_svipu_map_tells_each_drain_in_its_own_words() {
    let mut status = pod64();
    status.drains =
        vec![drain(None, None, None), Drain { reason: "fan".into(), ..drain(Some("vipu:8090"), None, None) }];
    assert_snapshot!(printed(&run(&status, "map")) + &printed(&run(&status, "status")));
}

/// As at submit.
#[test]
fn cli_svipu_when_names_valid_sizes() {
    let told = |ipus: &str| run(&super::why::busy(), &format!("when --ipus={ipus} -t 60")).stderr;
    for (ipus, expected) in [
        ("3", "3 IPUs is not a power of two; valid: --ipus=2 or --ipus=4\n"),
        ("65", "a job on pod64 gets at most 64 IPUs; valid: --ipus=64\n"),
        ("0", "a partition has at least 1 IPU; valid: --ipus=1\n"),
    ] {
        assert!(told(ipus).ends_with(expected), "{}", told(ipus));
    }
}

#[test]
fn cli_svipu_when_tells_what_stops_jobs() {
    let mut status = pod64();
    let of_ipu = |index| drain(Some("vipu:8090"), place(index), None);
    status.drains = vec![drain(None, None, None), of_ipu(3), of_ipu(4), of_ipu(6)];
    let line = "when --ipus=8 -t 60";
    let causes = |status: &vipu_status::Status| -> serde_json::Value {
        let json = run(status, &format!("{line} --json")).stdout;
        serde_json::from_str::<serde_json::Value>(&json).unwrap()[0]["causes"].clone()
    };
    assert_eq!(causes(&pod64()), serde_json::json!([]));
    assert_eq!(causes(&status).as_array().unwrap().len(), 2);
    assert_snapshot!(printed(&run(&status, line)) + &printed(&run(&lost(), line)));
}

#[test]
fn cli_svipu_tells_reservations_of_licences() {
    let mut status = pod64();
    let reservation = |ipus, from, hours: i64| LicenseReservation { ipus, from, until: NOW + hours * 3600 };
    let reservations =
        vec![reservation(64, NOW + 600, 10), reservation(8, NOW - 600, 1), reservation(4, NOW - 600, -1)];
    status.models[0].license = Some(License { total: 64, reservations });
    status.not_in_line = vec![waiting(33, 1001, 1, "Licenses")];
    let pages = ["status", "when --ipus=1 -t 5", "when --ipus=1 -t 60", "why 33"];
    assert_snapshot!(pages.map(|page| printed(&run(&status, page))).concat());
}

#[test]
fn cli_svipu_lists_partitions_that_no_job_has() {
    let text =
        ["partitions", "partition by_hand", "partition by_hnd", "partitions --me", "partitions --noheader"]
            .map(|line| format!("$ svipu {line}\n{}\n", printed(&run(&pod64(), line))));
    assert_snapshot!(text.concat());
}

/// A line of a terminal, if it were longer, would end within a word.
#[test]
fn cli_svipu_fits_a_terminal_of_80_columns() {
    let mut status = pod64();
    let pod = &mut status.models[0].pods[0];
    (pod.controller, pod.nodes) = ("vipu-controller.example:8090".into(), "ipu-[001-004],".repeat(8));
    status.models[0].conf.error = Some("line 3, column 9: MaxKeep=x is no time, such as 10m or 1h".into());
    status.line[0].reason = Some("vipu: 32 IPUs of pod64 needed, 14 free, largest block 8; 8 drained".into());
    status.partitions.iter_mut().for_each(|it| it.controller = "vipu-controller.example:8090".into());
    let around = svipu::Surroundings { size: Some((80, 50)), ..surroundings(&[]) };
    let mut texts = String::new();
    for line in ["status", "queue", "partitions", "plan", "when --ipus 4 -t 60", "user 1001"] {
        let text = run_in(&status, line, &around).stdout;
        assert!(text.lines().all(|it| it.chars().count() <= 80), "{line}: {text}");
        texts += &format!("$ svipu {line}\n{text}\n");
    }
    assert_snapshot!(texts);
}

#[test]
fn cli_svipu_when_names_a_time_limit_with_which_it_starts_now() {
    let text = run(&super::why::busy(), "when --ipus=16 -t 1-0").stdout;
    assert!(text.contains("With a time limit of 01:59:00 or less it could start now."), "{text}");
    let short = run(&super::why::busy(), "when --ipus=16 -t 60").stdout;
    assert!(!short.contains("With a time limit"), "{short}");
}

#[test]
fn cli_svipu_repeats_only_commands_that_show_the_document() {
    let refused = run(&pod64(), "conf show -w");
    assert_eq!((refused.exit, refused.stdout.as_str()), (2, ""));
    assert_eq!(run(&pod64(), "queue -w").exit, 0);
}
