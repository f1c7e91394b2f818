//! The requests of administrators, the answers, and what they change.

use std::collections::BTreeMap;

use frontend::{Frontend, StatusComposer};
use ledger::{Action, Claim, DriverAction, Event, Millis, Seconds, SeenPartition};
use vipu_admin::{Answer, Request, UserRequest};
use vipu_status::{Ipus, Writer};
use vipu_types::{IpuCount, JobRun, PartitionId, Place, Placement};

use crate::orders::{NOW, Orders};
use crate::{claim, facts, pod};

/// pod64 has two controllers that choose places, and pod16 one of them as well. slurm-vipu chooses those of
/// pod4. All controllers of pod64 and pod4 answered.
fn site() -> (Frontend, Orders) {
    let orders = Orders::default();
    let frontend = Frontend::new(Box::new(orders.clone()));
    frontend.tell_models(vec![
        facts("pod64", &["a:8090", "b:8090"], Placement::Controller, 64),
        facts("pod16", &["b:8090"], Placement::Controller, 64),
        facts("pod4", &["c:8090"], Placement::Explicit, 64),
    ]);
    for (model, controller, ipus) in [("pod64", "a:8090", 64), ("pod64", "b:8090", 64), ("pod4", "c:8090", 4)]
    {
        let strangers =
            if controller == "a:8090" { vec!["slurm_99", "theirs", "both"] } else { vec!["both"] };
        let seen = |(n, id): (u32, &str)| SeenPartition {
            partition: PartitionId::new(id).unwrap(),
            places: vec![Place { domain: 0, index: n }],
            fault: None,
            leaving: false,
        };
        let partitions = (0..).zip(strangers).map(seen).collect();
        let (pod, asked) = (pod(model, controller), Millis(1000));
        frontend.tell(Event::Inventory { pod, asked, ipus, faulty: 0, partitions });
    }
    orders.take();
    (frontend, orders)
}

/// The answer to `drain IPUS`, `resume IPUS`, `free ID`, `free! ID` with force, or `1000 ID`, with which user 1000 wants
/// it freed.
fn answer(frontend: &Frontend, request: &str) -> String {
    let (what, name) = request.split_once(' ').unwrap();
    let (name, reason) = (name.to_owned(), "new switch".to_owned());
    if let Ok(user) = what.parse() {
        let freed = frontend.free_own(user, &UserRequest { partition: name, reason: Some(reason) });
        return freed.map_or_else(|why| format!("refused: {why}"), |done| format!("done: {done}"));
    }
    let answer = frontend.steer(
        "root",
        match what {
            "drain" => Request::Drain { ipus: name, reason, until: None },
            "resume" => Request::Resume { ipus: name, reason: None },
            "free" => Request::Free { partition: name, reason, force: false },
            "free!" => Request::Free { partition: name, reason, force: true },
            other => panic!("no request {other}"),
        },
    );
    match answer {
        Answer::Done(text) => format!("done: {text}"),
        Answer::Refused(text) => format!("refused: {text}"),
    }
}

/// Compares the answers to requests, in their order.
fn plays(frontend: &Frontend, requests: &[(&str, &str)]) {
    for (request, expected) in requests {
        assert_eq!(answer(frontend, request), *expected, "{request}");
    }
}

#[test]
fn cli_steer_ipus_are_drained_and_resumed_by_their_names() {
    let (frontend, _) = site();
    plays(
        &frontend,
        &[
            ("drain pod64", "done: drained pod64: new switch; jobs that have IPUs there go on"),
            (
                "drain B:8090",
                "done: drained pod16 (b:8090), pod64 (b:8090): new switch; jobs that have IPUs there go on",
            ),
            (
                "drain c:8090/0:3",
                "done: drained IPU 3 of domain 0 of pod4 (c:8090): new switch; jobs that have IPUs there go on",
            ),
            ("resume a:8090", "refused: a:8090 is not drained; drained: pod64, b:8090, c:8090/0:3"),
            ("resume b:8090", "done: resumed pod16 (b:8090), pod64 (b:8090)"),
            ("resume c:8090/0:3", "done: resumed IPU 3 of domain 0 of pod4 (c:8090)"),
            (
                "drain c:8090/0:1-3",
                "done: drained IPU 1 of domain 0 of pod4 (c:8090) to IPU 3 of domain 0 of pod4 (c:8090): new switch; jobs that have IPUs there go on",
            ),
            (
                "resume 0:1-2",
                "done: resumed IPU 1 of domain 0 of pod4 (c:8090), IPU 2 of domain 0 of pod4 (c:8090)",
            ),
            ("resume 0:3", "done: resumed IPU 3 of domain 0 of pod4 (c:8090)"),
            ("resume pod64", "done: resumed pod64"),
            ("resume pod64", "refused: pod64 is not drained; drained: no IPUs"),
        ],
    );
}

#[test]
fn cli_steer_ipus_that_cannot_be_drained_are_refused_with_the_reason() {
    let (frontend, _) = site();
    plays(
        &frontend,
        &[
            (
                "drain pod65",
                "refused: pod65 is unknown; known are pod16 (b:8090), pod4 (c:8090), pod64 (a:8090, b:8090)",
            ),
            (
                "drain d:8090",
                "refused: d:8090 is unknown; known are pod16 (b:8090), pod4 (c:8090), pod64 (a:8090, b:8090)",
            ),
            ("drain c:8090/0:4", "refused: c:8090 has no IPU 4 of domain 0: it has 4 IPUs, 4 in a domain"),
            (
                "drain c:8090/5",
                "refused: '5' is no place: write DOMAIN:INDEX or DOMAIN:FIRST-LAST, for example 0:5 or 0:8-11",
            ),
            ("drain c:8090/0:2-4", "refused: c:8090 has no IPU 4 of domain 0: it has 4 IPUs, 4 in a domain"),
            (
                "drain 0:3",
                "refused: each controller has 0:3: write HOST:PORT/0:3; known are pod16 (b:8090), pod4 (c:8090), pod64 (a:8090, b:8090)",
            ),
            (
                "drain a:8090/0:3",
                "refused: a:8090 itself chooses the IPUs of partitions (Placement=controller of pod64), so that slurm-vipu cannot keep one of them free: drain the controller, or take the IPU out of service there",
            ),
            (
                "drain a\u{1b}b",
                "refused: model 'a\\u{1b}b': a letter, then letters, digits, '_' or '-', at most 64 characters",
            ),
        ],
    );
    let drain = |reason: &str, until| {
        let request = Request::Drain { ipus: "pod64".into(), reason: reason.into(), until };
        frontend.steer("root", request)
    };
    let refused = |text: &str| Answer::Refused(text.into());
    assert_eq!(drain(" ", None), refused("a drain needs a reason, because users see it"));
    assert_eq!(drain("x", Some(NOW)), refused("--until is in the past"));
    assert_eq!(frontend.drains(), []);
}

/// The reason stands in squeue, so it is one short line.
#[test]
fn cli_steer_reasons_are_safe_to_show() {
    let (frontend, _) = site();
    let reason = format!("a\nb{}", "x".repeat(1 << 16));
    frontend.steer("root", Request::Drain { ipus: "pod64".into(), reason, until: None });
    assert_eq!(frontend.drains()[0].reason, format!(r"a\nb{}...", "x".repeat(77)));
}

#[test]
fn cli_steer_drains_go_to_the_next_slurmctld_and_end_in_time() {
    let (frontend, _) = site();
    let drain = |ipus: &str, until| Request::Drain { ipus: ipus.into(), reason: "new switch".into(), until };
    frontend.steer("root", drain("c:8090/0:3", None));
    frontend.steer("root", drain("b:8090", Some(NOW + 60)));
    let saved = frontend.drains();
    assert_eq!(
        (saved.len(), &*saved[0].by, saved[0].since, saved[2].until),
        (3, "root", NOW, Some(NOW + 60))
    );

    let (next, orders) = site();
    next.restore_drains(&saved).unwrap();
    assert_eq!(next.drains(), saved);
    assert!(!next.end_drains());
    orders.pass(60);
    assert!(next.end_drains());
    assert_eq!(next.drains(), saved[..1]);
    let wrong = vipu_status::Drain { model: "a b".into(), ..saved[0].clone() };
    assert!(next.restore_drains(&[wrong]).is_err());
}

#[test]
fn cli_steer_partitions_are_freed_unless_a_running_job_has_them() {
    let (frontend, orders) = site();
    let begin = |job| frontend.tell(Event::begin(claim(job)));
    let failed = |job| {
        let ending = ledger::Ending::Unheld;
        frontend.tell(Event::Failed { job, ending, keep_until: Seconds(NOW + 600) })
    };
    begin(1);
    for job in [2, 6] {
        begin(job);
        frontend.tell(Event::Up(claim(job).partition));
        frontend.tell(Event::Launched(claim(job).partition));
        failed(job);
        frontend.tell(Event::KeepRecorded(claim(job).partition));
    }
    frontend.tell(Event::Prepare(Claim { run: JobRun::waiting(3, 0, NOW), ..claim(3) }));
    frontend.tell(Event::Orphan(claim(4)));
    for request in
        ["1001 slurm_2", "0 slurm_2", "1001 slurm_1", "1001 slurm_4", "1000 slurm_99", "1000 \u{1b}"]
    {
        let name = request.split_once(' ').unwrap().1.escape_default();
        let refused = "is unknown, or of another user: `svipu --me partitions` lists yours";
        assert_eq!(answer(&frontend, request), format!("refused: partition {name} {refused}"));
    }
    plays(
        &frontend,
        &[
            ("1000 slurm_6", "done: slurm_6 was kept for job 6 and is being removed"),
            ("1000 slurm_6", "refused: slurm_6 is being removed already"),
            (
                "1000 slurm_1",
                "refused: job 1 has slurm_1: `scancel 1` ends the job and removes the partition",
            ),
            (
                "1000 slurm_3",
                "refused: job 3 has slurm_3: `scancel 3` ends the job and removes the partition",
            ),
            (
                "free slurm_1",
                "refused: job 1 has slurm_1: `scancel 1` ends the job and removes the partition",
            ),
            ("free slurm_2", "done: slurm_2 was kept for job 2 and is being removed"),
            ("free slurm_2", "refused: slurm_2 is being removed already"),
            ("free slurm_3", "done: slurm_3 was prepared for job 3, which waits on, and is being removed"),
            ("free slurm_4", "refused: slurm_4 is being removed already"),
            ("free slurm_5", "refused: no controller lists a partition slurm_5"),
            (
                "free /",
                "refused: partition id '/': a letter, then letters, digits, '_' or '-', at most 36 characters",
            ),
        ],
    );
    let cancelled = DriverAction::CancelCreate(claim(3).partition);
    assert!(orders.take().contains(&Action::Driver(cancelled)));
}

#[test]
fn cli_steer_partitions_of_others_are_removed_on_demand_only() {
    let (frontend, orders) = site();
    plays(
        &frontend,
        &[
            (
                "free slurm_99",
                "done: pod64 (a:8090) is asked to remove slurm_99; slurmctld's log has the outcome",
            ),
            (
                "free theirs",
                "refused: theirs of pod64 (a:8090) is not named like partitions of this cluster, so that others may use it: --force removes it all the same",
            ),
            (
                "free! theirs",
                "done: pod64 (a:8090) is asked to remove theirs; slurmctld's log has the outcome",
            ),
            (
                "free! both",
                "refused: pod4 (c:8090) and pod64 (a:8090) and pod64 (b:8090) have a partition both: remove the right one there, with `vipu remove partition`",
            ),
        ],
    );
    let removed = |id: &str| {
        let (pod, partition) = (pod("pod64", "a:8090"), PartitionId::new(id).unwrap());
        Action::Driver(DriverAction::RemoveForeign { pod, partition })
    };
    assert_eq!(orders.take(), ["slurm_99", "theirs"].map(removed));
}

#[test]
fn cli_steer_reconcile_asks_each_controller() {
    let (frontend, orders) = site();
    let Answer::Done(text) = frontend.steer("root", Request::Reconcile {}) else { panic!("refused") };
    assert_eq!(text, "asked 4 controllers for their IPUs and partitions; `svipu` shows the answers");
    let all = orders.take();
    assert!(
        all.len() == 4 && all.iter().all(|action| matches!(action, Action::Driver(DriverAction::Survey(_)))),
        "{all:?}"
    );
    frontend.give_up("no journal");
    let refused = "refused: slurm-vipu does nothing until slurmctld is restarted: no journal";
    plays(&frontend, &[("drain pod64", refused), ("1000 slurm_1", refused)]);
}

#[test]
fn cli_steer_free_removes_an_idle_partition() {
    let (frontend, orders) = site();
    let partition = claim(1).partition;
    frontend.tell(Event::begin(claim(1)));
    frontend.tell(Event::Up(partition.clone()));
    frontend.tell(Event::Launched(partition.clone()));
    frontend.tell(Event::Fini { job: 1, ending: ledger::Ending::Unheld });
    frontend.tell(Event::NodesDone(partition.clone()));
    let why = "refused: slurm_1 is being reset after job 1: free it when it is idle";
    plays(
        &frontend,
        &[("free slurm_1", why), ("1000 slurm_1", "refused: slurm_1 is being reset after job 1")],
    );
    frontend.tell(Event::Idle(partition));
    let idle = "refused: slurm_1 is idle: no job has it, and the next one can get it";
    let done = "done: slurm_1 was idle and is being removed";
    plays(&frontend, &[("1000 slurm_1", idle), ("free slurm_1", done)]);
    assert!(matches!(orders.take().last(), Some(Action::Driver(DriverAction::Remove(_)))));
}

/// The numbers of the document agree with what the ledger gives to jobs.
#[test]
fn cli_steer_drained_ipus_are_not_free_in_the_document() {
    let (frontend, _) = site();
    let ipus = || {
        let status = StatusComposer::default().compose(&frontend, Writer::default(), BTreeMap::new());
        let model = status.models.iter().find(|model| model.name == "pod4").unwrap();
        let Ipus { total, free, drained, foreign, .. } = model.pods[0].ipus;
        assert_eq!(total, free + drained + foreign);
        let one = vipu_forecast::room_for(&status, model, IpuCount::ONE);
        assert_eq!((one, one > 0), (free, model.largest_now > 0), "{model:?}");
        (free, drained)
    };
    // IPU 0 has a partition of others.
    assert_eq!(ipus(), (3, 0));
    for (request, expected) in [
        ("drain c:8090/0:1", (2, 1)),
        ("drain c:8090/0:0", (2, 1)),
        ("drain pod4", (0, 3)),
        ("resume pod4", (2, 1)),
    ] {
        answer(&frontend, request);
        assert_eq!(ipus(), expected, "{request}");
    }
}

/// pod64 has a pool of these partitions of 16 IPUs.
fn pool_of(names: [&str; 2]) -> Frontend {
    let frontend = Frontend::new(Box::<Orders>::default());
    let conf = "ApiHost=a IpuofDir=/x Mode=pool Pool=p16_*";
    let settings = vipu_conf::Settings::parse(conf, std::path::Path::new("vipu.conf")).unwrap();
    let model = frontend::Model { largest: 64, sizes: None, settings: Some(settings), cabling: None };
    let pod = pod("pod64", "a:8090");
    frontend.tell_models(vec![model.facts(&pod.model, None)]);
    let seen = |(n, name): (u32, &str)| SeenPartition {
        partition: PartitionId::new(name).unwrap(),
        places: (n * 16..(n + 1) * 16).map(|index| Place { domain: 0, index }).collect(),
        fault: None,
        leaving: false,
    };
    let all: Vec<_> = (0..).zip(names).map(seen).collect();
    let block = ledger::PoolBlock { size: IpuCount::new(16).unwrap(), is_reconfigurable: false };
    let in_pool =
        |seen: &SeenPartition| ledger::PoolPartition { seen: seen.clone(), block, gcds: 1, is_ready: true };
    let partitions = all.iter().map(in_pool).collect();
    frontend.tell(Event::Pool { pod: pod.clone(), partitions, missing: BTreeMap::new() });
    frontend.tell(Event::Inventory { pod, asked: Millis(1000), ipus: 64, faulty: 0, partitions: all });
    frontend
}

/// The drain is of the partition, wherever it stands in the pool of the next slurmctld.
#[test]
fn mode_pool_partition_is_drained() {
    let frontend = pool_of(["p16_b", "p16_c"]);
    plays(
        &frontend,
        &[
            (
                "drain p16_b",
                "done: drained partition p16_b of pod64 (a:8090): new switch; jobs that have IPUs there go on",
            ),
            ("drain p16_d", "refused: p16_d is unknown; known are pod64 (a:8090, p16_b, p16_c)"),
        ],
    );
    let by_place = answer(&frontend, "drain a:8090/0:3");
    assert!(
        by_place.starts_with("refused: ") && by_place.contains("drain the partition by its name"),
        "{by_place}"
    );
    let next = pool_of(["p16_a", "p16_b"]);
    next.restore_drains(&frontend.drains()).unwrap();
    let ipus = || {
        let status = StatusComposer::default().compose(&next, Writer::default(), BTreeMap::new());
        let Ipus { free, drained, .. } = status.models[0].pods[0].ipus;
        (free, drained)
    };
    assert_eq!(ipus(), (16, 16));
    plays(&next, &[("resume p16_b", "done: resumed partition p16_b of pod64 (a:8090)")]);
    assert_eq!(ipus(), (32, 0));
}
