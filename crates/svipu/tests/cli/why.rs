//! `svipu why`: each kind of cause, advice and state.

use std::sync::Arc;

use insta::assert_snapshot;
use vipu_forecast::ModelForecast;
use vipu_status::{Contact, Drain, Ipus, OtherIpus, OtherUse, Place, Rank, Share, State, Status};

use super::documents::{WRITTEN, empty, model, partition, places, waiting};
use super::{NOW, printed, run};

/// Two jobs run on 48 of 64 IPUs. Job 30 wants all, and job 31 is behind it.
pub(crate) fn busy() -> Status {
    let mut status = empty();
    let ipus = Ipus { total: 64, used: 48, free: 16, ..Ipus::default() };
    status.models = vec![model("pod64", ipus, 64)];
    status.models[0].pods[0].largest_free = 16;
    status.partitions = vec![
        partition(20, 1000, State::Running, places(0, 0, 32)),
        partition(21, 1001, State::Running, places(0, 32, 16)),
    ];
    status.partitions[1].ends = Some(WRITTEN + 7200);
    status.line = vec![
        waiting(30, 1001, 64, "vipu: 64 IPUs of pod64 needed, 16 free, largest block 16"),
        waiting(31, 1000, 16, "vipu: IPUs of pod64 are kept for job 30"),
    ];
    status.line[1].behind = Some(30);
    for row in &mut status.line {
        Arc::make_mut(row.job.as_mut().unwrap()).slurm_partition = Some("ipu".into());
    }
    planned(status)
}

/// The document with the starts that the plugin writes.
pub(crate) fn planned(mut status: Status) -> Status {
    let Some(forecast) = ModelForecast::new(&status, &status.models[0], NOW) else {
        status.line.iter_mut().for_each(|row| row.start = None);
        return status;
    };
    let starts: Vec<_> = (0..status.line.len()).map(|number| forecast.waiting(number)).collect();
    for (row, start) in status.line.iter_mut().zip(starts) {
        row.start = start.as_ref().map(|start| start.at);
        row.planned_controller = start.as_ref().map(|start| start.controller.clone());
        row.planned_places = start.map(|start| start.places).unwrap_or_default();
    }
    status
}

/// What svipu tells about a job, of which one cause or advice has this kind.
fn why(kind: &str, status: &Status, job: &str) -> String {
    let json = run(status, &format!("why {job} --json")).stdout;
    let answers: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sentences = |list: &str| answers[0][list].as_array().unwrap().clone();
    let kinds: Vec<_> =
        ["causes", "advice"].iter().flat_map(|list| sentences(list)).map(|it| it["kind"].clone()).collect();
    assert!(kinds.iter().any(|it| it == kind), "{kind}: {json}");
    format!("## {kind}\n{}\n", printed(&run(status, &format!("why {job}"))))
}

/// The causes and advice for job 30 in a changed document.
fn changed(kind: &str, change: impl FnOnce(&mut Status)) -> String {
    let mut status = busy();
    change(&mut status);
    why(kind, &planned(status), "30")
}

#[test]
fn cli_svipu_why_tells_what_stops_jobs() {
    let drain = |place, controller: Option<&str>, until| Drain {
        model: "pod64".into(),
        controller: controller.map(Into::into),
        place,
        partition: None,
        reason: "new firmware".into(),
        by: "root".into(),
        since: WRITTEN - 600,
        until,
    };
    let texts = [
        changed("out_of_order", |it| it.out_of_order = Some("the ledger panicked".into())),
        changed("trouble", |it| it.models[0].trouble = Some("the disk with the journal is full".into())),
        changed("no_settings", |it| {
            it.models[0].conf.in_force = false;
            it.models[0].conf.error = Some("line 3: MaxKeep=x is no time".into());
        }),
        changed("no_model", |it| it.line[0].model = "pod16".into()),
        changed("controller_away", |it| {
            let reason = "connection refused".into();
            it.models[0].pods[0].contact = Contact::Lost { since: WRITTEN - 300, reason };
        }),
        changed("controller_away", |it| {
            let reason = "controller vipu:8090: connection refused".into();
            it.models[0].pods[0].contact = Contact::Lost { since: WRITTEN - 300, reason };
        }),
        changed("controller_away", |it| it.models[0].pods[0].contact = Contact::NotYet),
        changed("controller_trouble", |it| {
            it.models[0].pods[0].trouble = Some("IpuofDir cannot be written".into());
        }),
        changed("drained", |it| {
            let place = Some(Place { domain: 0, index: 3 });
            it.drains = vec![
                drain(None, None, None),
                drain(None, Some("vipu:8090"), Some(WRITTEN + 3600)),
                drain(place, Some("vipu:8090"), None),
                drain(place, None, None),
            ];
        }),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_tells_limits() {
    let texts = [
        changed("limit_job", |it| it.models[0].limits.job = 32),
        changed("limit_slurm_partition", |it| {
            it.models[0].limits.job_in_slurm_partition = [("ipu".to_owned(), 8)].into();
        }),
        changed("limit_qos", |it| {
            it.models[0].limits.job_in_qos = [("short".to_owned(), 16)].into();
            Arc::make_mut(it.line[0].job.as_mut().unwrap()).qos = Some("short".into());
        }),
        changed("share", |it| {
            it.models[0].limits.slurm_partition = [("ipu".to_owned(), Share { limit: 64, used: 48 })].into();
        }),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_tells_who_has_the_ipus() {
    let unusable = |status: &mut Status| {
        let pod = &mut status.models[0].pods[0];
        let other = |because, places| OtherIpus { because, partition: None, leaving: false, places };
        pod.others = vec![
            other(OtherUse::Foreign, places(0, 48, 2)),
            other(OtherUse::Faulty, places(0, 50, 1)),
            other(OtherUse::Suspected, places(0, 51, 1)),
        ];
        pod.ipus = Ipus {
            total: 64,
            used: 32,
            kept: 16,
            foreign: 2,
            faulty: 1,
            suspected: 1,
            free: 12,
            ..Ipus::default()
        };
        pod.largest_free = 8;
        status.partitions[1].state = State::Kept;
        status.line[0].size = 32;
    };
    let texts = [
        why("too_few_free", &busy(), "30"),
        changed("no_block", |it| {
            let pod = &mut it.models[0].pods[0];
            (pod.ipus.free, pod.ipus.used, pod.largest_free) = (36, 28, 16);
            it.partitions[0].places = places(0, 0, 12);
            it.line[0].size = 32;
        }),
        changed("unusable", unusable),
        changed("holder", |it| {
            it.partitions =
                (0..8).map(|n| partition(20 + n, 1001, State::Running, places(0, 8 * n, 8))).collect();
            it.partitions[0].state = State::Removing;
            it.partitions[1].ends = Some(WRITTEN + 60);
            it.partitions[2].state = State::Kept;
            it.models[0].pods[0].ipus = Ipus { total: 64, used: 64, ..Ipus::default() };
            it.models[0].pods[0].largest_free = 0;
        }),
        changed("holder", |it| {
            it.partitions =
                (0..6).map(|n| partition(20 + n, 1001, State::Running, places(0, 8 * n, 8))).collect();
        }),
        changed("free_now", |it| {
            it.line[0].size = 16;
            it.line[0].reason = Some("Priority".into());
        }),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_of_a_job_whose_ipus_are_free_but_not_its_nodes() {
    let text = changed("nodes", |it| {
        it.line.truncate(1);
        (it.line[0].size, it.line[0].not_before) = (16, WRITTEN + 9000);
        it.line[0].reason = Some("Resources".into());
    });
    assert!(!text.contains("of the planned block"), "{text}");
    assert_snapshot!(text);
}

#[test]
fn cli_svipu_why_tells_who_is_ahead() {
    let ahead = |kind: &str, rank: Rank| {
        let mut status = busy();
        status.line[0].rank = Rank { in_reservation: false, tier: 1, priority: 500 };
        status.line[1].rank = status.line[0].rank;
        status.line[0].rank = rank;
        why(kind, &planned(status), "31")
    };
    let rank = Rank { in_reservation: false, tier: 1, priority: 500 };
    let mut crowd = busy();
    crowd.line.splice(1..1, (40..46).map(|id| waiting(id, 1000, 32, "Priority")));
    crowd.line.iter_mut().for_each(|row| row.rank.priority = 500);
    crowd.line[6].rank.priority = 499;
    crowd.line[7].rank.priority = 499;
    let mut long_line = busy();
    long_line.line.splice(1..1, (40..60).map(|id| waiting(id, 1000, 32, "Priority")));
    let mut explicit = busy();
    explicit.models[0].chooses_ipus = true;
    explicit.line[1].behind = None;
    let texts = [
        ahead("reservation", Rank { in_reservation: true, ..rank }),
        ahead("tier", Rank { tier: 10, ..rank }),
        ahead("priority", Rank { priority: 501, ..rank }),
        ahead("age", rank),
        why("plan", &busy(), "31"),
        why("planned_before", &planned(crowd), "31"),
        why("far_back", &planned(long_line), "31"),
        why("kept_for_plan", &planned(explicit), "31"),
        changed("nodes", |it| it.line[0].not_before = WRITTEN + 9000),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_tells_what_would_help() {
    let mut other_model = busy();
    let ipus = Ipus { total: 16, free: 16, ..Ipus::default() };
    other_model.models.push(model("pod16", ipus, 16));
    let texts = [
        changed("smaller", |it| it.line.truncate(1)),
        why("shorter", &busy(), "31"),
        why("other_model", &other_model, "31"),
    ];
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_tells_what_a_partition_does() {
    let state = |state: State| {
        let mut status = busy();
        let entry = &mut status.partitions[0];
        entry.state = state;
        entry.ready_expected = matches!(state, State::Preparing | State::Creating).then_some(NOW + 20);
        entry.reason = (state == State::Failed).then(|| "the controller refuses: quota".to_owned());
        format!("## {}\n{}\n", state.name(), run(&status, "why 20").stdout)
    };
    let states = [
        State::Preparing,
        State::Prepared,
        State::Creating,
        State::Ready,
        State::Running,
        State::Failed,
        State::Kept,
        State::Ending,
        State::Removing,
    ];
    assert_snapshot!(states.map(state).concat());
}

#[test]
fn cli_svipu_why_of_an_unknown_job_or_with_hidden_owners() {
    let mut hidden = busy();
    hidden.partitions.iter_mut().for_each(|entry| (entry.id, entry.job) = (None, None));
    (hidden.line[0].job, hidden.line[0].reason) = (None, None);
    let texts = ["29", "29_1", "abc"].map(|job| printed(&run(&busy(), &format!("why {job}"))));
    assert_snapshot!(texts.concat() + &printed(&run(&hidden, "why 31")) + &printed(&run(&hidden, "why 29")));
}

#[test]
fn cli_svipu_why_of_jobs_that_wait_for_something_else() {
    let reasons = [
        "JobHeldUser",
        "JobHeldAdmin",
        "Dependency",
        "DependencyNeverSatisfied",
        "BeginTime",
        "AssocGrpGRES",
        "QOSMaxGRESPerUser",
        "PartitionTimeLimit",
        "PartitionNodeLimit",
        "Resources",
        "SomethingNew",
    ];
    let text = |reason: &&str| {
        let mut status = busy();
        status.not_in_line = vec![waiting(33, 1001, 16, reason)];
        why("if_in_line", &planned(status), "33")
    };
    assert_snapshot!(reasons.iter().map(text).collect::<String>());
}

#[test]
fn cli_svipu_shows_jobs_that_wait_for_something_else() {
    let mut status = busy();
    status.not_in_line = vec![waiting(33, 1001, 16, "JobHeldUser"), waiting(34, 1001, 8, "Dependency")];
    let pages = ["status", "job 33", "user 1001", "job 34 --json"].map(|it| printed(&run(&status, it)));
    assert_snapshot!(pages.concat());
}

/// The advice is that of the forecast: with one minute more the job would wait.
#[test]
fn cli_svipu_why_advises_the_longest_time_limit() {
    let with_limit = |seconds| {
        let mut status = busy();
        status.line[1].duration = seconds;
        status.line[1].behind = None;
        planned(status).line[1].start.unwrap()
    };
    let text = run(&busy(), "why 31").stdout;
    let limit = text.split("TimeLimit=").nth(1).unwrap().trim();
    let seconds = 3600 * limit[..2].parse::<u64>().unwrap() + 60 * limit[3..5].parse::<u64>().unwrap();
    assert_eq!(with_limit(seconds), NOW, "{text}");
    assert!(with_limit(seconds + 60) > NOW, "{text}");
}

/// Slurm counts a year for such a job, which tells nothing about its end.
#[test]
fn cli_svipu_tells_that_a_job_has_no_time_limit() {
    let mut status = busy();
    (status.partitions[1].ends, status.partitions[1].unlimited) = (None, true);
    let mut status = planned(status);
    // So does the plugin.
    assert!(status.line[0].start.take() > Some(NOW + 364 * 86_400));
    let lines = [
        "why 21",
        "why 30",
        "partition slurm_21",
        "partitions",
        "queue",
        "plan",
        "when --ipus=64 -t 60",
        "when --ipus=64 -t 60 --json",
    ];
    let text = |line: &str| format!("$ svipu {line}\n{}\n", printed(&run(&status, line)));
    assert_snapshot!(lines.map(text).concat());
}

/// The words are those of driver/create_progress.rs.
#[test]
fn cli_svipu_tells_tries_and_errors_of_a_partition_that_cannot_be_made() {
    let mut status = busy();
    let mut healthy = partition(23, 1000, State::Creating, places(0, 48, 4));
    healthy.reason = Some("vipu: creating partition slurm_23: 4 IPUs on pod64".into());
    status.partitions.push(healthy);
    let entry = &mut status.partitions[0];
    (entry.state, entry.ready_expected) = (State::Creating, Some(NOW - 8));
    let told = r#"12 s, usually 2.0 s, try 4: controller vipu:8090: partition "slurm_20" already exists"#;
    entry.reason = Some(format!("vipu: creating partition slurm_20: 32 IPUs on pod64, {told}"));
    let rest = told.trim_start_matches("12 s, u");
    for (line, told) in [("why 20", rest), ("job 20", told), ("partitions", told), ("status", told)] {
        let text = run(&status, line).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(told) && !text.contains("ready now"), "{line}: {text}");
        assert!(!text.contains("vipu: creating"), "{line}: {text}");
    }
    let why = run(&status, "why 20").stdout;
    assert!(
        !why.contains("12 s") && why.contains(". Usually 2.0 s, try 4"),
        "the making has one time: {why}"
    );
}

#[test]
fn cli_svipu_why_of_a_job_in_the_first_seconds() {
    let mut status = busy();
    let unknown = run(&status, "why 99").stderr;
    assert!(
        unknown.contains("the document is 3 s old, and news of jobs come into it within 10 s"),
        "{unknown}"
    );
    status.partitions[0].state = State::Removing;
    status.not_in_line = vec![waiting(20, 1000, 32, "BeginTime")];
    status.not_in_line[0].not_before = NOW + 120;
    assert_snapshot!(run(&status, "why 20").stdout);
    status.not_in_line[0] = waiting(22, 1000, 32, "vipu: controller vipu:8090: quota");
    status.not_in_line[0].rank.priority = 0;
    let held = run(&status, "why 22").stdout;
    assert!(
        held.contains("vipu: controller vipu:8090: quota") && held.contains("scontrol release 22"),
        "{held}"
    );
}

#[test]
fn cli_svipu_takes_names_as_people_type_them() {
    let mut status = busy();
    status.line[1].tasks = 4;
    status.not_in_line = vec![waiting(33, 1000, 16, "JobHeldUser")];
    let said = |line: &str| run(&status, line).stdout;
    assert_eq!(said("partition 20"), said("partition slurm_20"));
    assert_eq!(said("job slurm_20"), said("job 20"));
    assert_eq!(said("why 31_[2-5]"), said("why 31"));
    assert_eq!(said("why slurm_20"), said("why 20"));
    assert_eq!(said("user"), said("user alice"));
    assert_eq!(said("queue -o JobID,ipus,time_limit"), said("queue -o job,size,time"));
    let own = said("why");
    assert!(
        ["Job 20", "Job 31", "Job 33"].iter().all(|job| own.contains(job)) && !own.contains("Job 21"),
        "{own}"
    );
    assert!(said("queue --me").contains("JobHeldUser") && !said("queue").contains("JobHeldUser"));
    let nobody = run(&empty(), "why").stdout;
    assert!(nobody.contains("names no job with IPUs"), "{nobody}");
}

#[test]
fn cli_svipu_tells_one_start_of_a_heterogeneous_job_and_tasks_ahead() {
    let mut status = busy();
    status.line[0].tasks = 5;
    status.line.push(waiting(32, 1000, 1, "Priority"));
    for (number, row) in status.line[1..].iter_mut().enumerate() {
        let component = u32::try_from(number).unwrap();
        Arc::make_mut(row.job.as_mut().unwrap()).component = Some((31, component));
        (row.size, row.behind) = (16, None);
    }
    let mut status = planned(status);
    (status.line[1].start, status.line[2].start) = (Some(NOW), Some(NOW + 3600));
    assert_snapshot!(run(&status, "why 31").stdout);
}

/// priority/basic only counts the jobs.
#[test]
fn cli_svipu_leaves_out_priorities_that_only_count() {
    let mut status = busy();
    status.line.iter_mut().for_each(|row| row.rank.priority += 4_294_900_000);
    for line in ["queue", "job 31", "why 31"] {
        let text = run(&status, line).stdout;
        assert!(!text.contains("PRIORITY") && !text.contains("42949"), "{text}");
    }
}

#[test]
fn cli_svipu_why_explains_a_reason_of_slurm_in_line() {
    let mut status = busy();
    status.line.truncate(1);
    status.line[0].size = 16;
    status.line[0].reason = Some("ReqNodeNotAvail, Reserved for maintenance".into());
    let text = run(&planned(status), "why 30").stdout;
    assert!(
        text.contains("reserved for maintenance or for") && !text.contains("Slurm looks at it"),
        "{text}"
    );
}
