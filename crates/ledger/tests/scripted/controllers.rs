//! A model with several controllers.

use crate::script::{Scripted, claim, earliest, foreign, id, jobs, pod, seen, wish};
use ledger::{Claim, Event, ModelFacts, Seconds, Wait, Wish};
use vipu_types::{IpuCount, words};

/// The configuration of pod64 with the controllers on these hosts, in this order.
fn on(hosts: &[&str]) -> Event {
    let controllers = hosts.iter().map(|host| id("pod64", host).controller).collect();
    Event::Models(vec![ModelFacts { controllers, ..pod("pod64") }])
}

/// Returns a ledger with pod64 on these controllers, none of which has answered.
fn fresh(hosts: &[&str]) -> Scripted {
    let mut scripted = Scripted::new();
    scripted.tell(on(hosts));
    scripted
}

/// Tells a listing of the controller on `host`, asked for just now. The first `used` IPUs have a foreign
/// partition.
fn list(scripted: &mut Scripted, host: &str, ipus: u32, used: u32) -> String {
    let partitions = if used == 0 { vec![] } else { vec![seen("theirs", 0..used)] };
    let (pod, asked) = (id("pod64", host), scripted.now);
    scripted.tell(Event::Inventory { pod, asked, ipus, faulty: 0, partitions })
}

fn lose(scripted: &mut Scripted, host: &str) {
    let reason = words!("controller {host}:8090: connection refused");
    assert_eq!(scripted.tell(Event::Unreachable { pod: id("pod64", host), reason }), "");
}

/// Returns the host of the controller that would get a partition of this many IPUs, or the reason to wait.
fn taken_by(scripted: &Scripted, ipus: u64) -> String {
    let answer = scripted.ledger.fits_now(&pod("pod64").model, IpuCount::new(ipus).unwrap());
    answer.map_or_else(|wait| wait.to_string(), |controller| controller.host().to_owned())
}

/// Begins a job of 16 IPUs on the controller of `host`.
fn begin(scripted: &mut Scripted, job: &str, host: &str) -> String {
    let controller = id("pod64", host).controller;
    scripted.tell(Event::begin(Claim { controller, ..claim(job) }))
}

#[test]
fn the_first_controller_with_room_is_taken() {
    let mut scripted = fresh(&["b", "a"]);
    assert_eq!(list(&mut scripted, "b", 16, 0), "kick");
    assert_eq!(list(&mut scripted, "a", 64, 0), "kick");
    assert_eq!((taken_by(&scripted, 16), taken_by(&scripted, 32)), ("b".into(), "a".into()));
    begin(&mut scripted, "1", "b");
    assert_eq!(taken_by(&scripted, 16), "a");
    scripted.tell(on(&["a", "b"]));
    assert_eq!(taken_by(&scripted, 16), "a");
}

#[test]
fn a_full_model_tells_of_all_its_controllers() {
    let mut scripted = fresh(&["a", "b", "c"]);
    list(&mut scripted, "a", 64, 60);
    list(&mut scripted, "b", 64, 40);
    list(&mut scripted, "c", 64, 64);
    assert_eq!(taken_by(&scripted, 32), "vipu: 32 IPUs of pod64 needed, 28 free, largest block 16");
    lose(&mut scripted, "b");
    assert_eq!(
        taken_by(&scripted, 32),
        "vipu: 32 IPUs of pod64 needed, 4 free, largest block 4; 1 controller does not answer"
    );
    assert_eq!(taken_by(&scripted, 128), "vipu: 128 IPUs wanted, a job on pod64 gets at most 64");
}

#[test]
fn a_controller_that_does_not_answer_keeps_no_job_from_the_others() {
    let mut scripted = fresh(&["a", "b"]);
    let no_answer = "vipu: no answer from the controller of pod64 yet";
    assert_eq!(taken_by(&scripted, 1), no_answer);
    lose(&mut scripted, "b");
    assert_eq!(taken_by(&scripted, 1), "vipu: pod64: controller b:8090: connection refused");
    assert_eq!(list(&mut scripted, "b", 64, 0), "kick");
    assert_eq!(taken_by(&scripted, 1), "b");
    lose(&mut scripted, "a");
    assert_eq!(taken_by(&scripted, 1), "b");
    lose(&mut scripted, "b");
    assert_eq!(taken_by(&scripted, 1), "vipu: pod64: controller a:8090: connection refused");
    assert!(matches!(&scripted.ledger.view().models[0].trouble, Some(Wait::Unreachable { .. })));
}

#[test]
fn the_scheduler_looks_again_only_when_more_fits_on_the_model() {
    let mut scripted = fresh(&["a", "b"]);
    assert_eq!(list(&mut scripted, "a", 64, 32), "kick");
    assert_eq!(list(&mut scripted, "b", 64, 32), "", "a has a block of that size already");
    assert_eq!(list(&mut scripted, "b", 64, 0), "kick");
}

#[test]
fn each_partition_counts_on_its_own_controller() {
    let mut scripted = fresh(&["a", "b"]);
    list(&mut scripted, "a", 64, 0);
    list(&mut scripted, "b", 64, 0);
    assert_eq!(begin(&mut scripted, "1", "b"), "create 1");
    let free =
        |scripted: &Scripted| scripted.ledger.view().models[0].pods.iter().map(|pod| pod.free).collect();
    let (before, after): (Vec<u32>, Vec<u32>) = (free(&scripted), vec![64, 48]);
    assert_eq!(before, after);
    // A partition of that name on the other controller is foreign. The claim explains its name.
    let (pod, asked, partitions) = (id("pod64", "a"), scripted.now, vec![seen("slurm_1", 0..4)]);
    let strange = Event::Inventory { pod, asked, ipus: 64, faulty: 0, partitions };
    assert_eq!(scripted.tell(strange), "");
    assert_eq!(free(&scripted), [60, 48]);
    assert_eq!(foreign(&scripted, "a"), 1);
    scripted.play("up 1 -> launch 1, survey pod64 at b");
    scripted.play("fini 1 held -> await-nodes 1");
    scripted.play("nodes-done 1 -> remove 1");
    scripted.play("gone 1 -> complete 1, kick, survey pod64 at b");
    assert_eq!(free(&scripted), [60, 64]);
}

#[test]
fn the_forecast_covers_all_controllers() {
    let mut scripted = fresh(&["a", "b"]);
    list(&mut scripted, "a", 16, 0);
    list(&mut scripted, "b", 32, 0);
    for (job, host) in [("1", "a"), ("2", "b"), ("3", "b")] {
        begin(&mut scripted, job, host);
    }
    let ends = [(1, 300), (2, 100), (3, 200)];
    assert_eq!(earliest(&mut scripted, 16, &ends), Some(101));
    assert_eq!(earliest(&mut scripted, 32, &ends), Some(201));
    assert_eq!(earliest(&mut scripted, 64, &ends), None, "no controller has that many");
    lose(&mut scripted, "b");
    assert_eq!(earliest(&mut scripted, 16, &ends), Some(301));
    // Answers are kept until the next event.
    list(&mut scripted, "a", 16, 0);
    assert_eq!(earliest(&mut scripted, 16, &ends[1..]), Some(1), "job 1 has ended, its partition goes");
}

#[test]
fn the_list_of_controllers_can_change_while_jobs_run() {
    let mut scripted = fresh(&["a", "b"]);
    list(&mut scripted, "a", 64, 0);
    list(&mut scripted, "b", 64, 0);
    begin(&mut scripted, "1", "b");
    scripted.play("up 1 -> launch 1, survey pod64 at b");
    scripted.play("launched 1 ->");
    assert_eq!(scripted.tell(on(&["a"])), "survey pod64 at a");
    assert_eq!((taken_by(&scripted, 64), scripted.ledger.view().models[0].pods.len()), ("a".into(), 1));
    lose(&mut scripted, "b");
    scripted.play("fini 1 held -> await-nodes 1");
    assert_eq!(scripted.tell(on(&["c", "b"])), "survey pod64 at c, survey pod64 at b");
    assert_eq!(taken_by(&scripted, 1), "vipu: no answer from the controller of pod64 yet");
    list(&mut scripted, "b", 64, 0);
    assert_eq!(
        taken_by(&scripted, 64),
        "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32; 1 controller does not answer"
    );
    scripted.play("nodes-done 1 -> remove 1");
    scripted.play("gone 1 -> complete 1, kick, survey pod64 at b");
    assert_eq!(taken_by(&scripted, 64), "b");
}

/// The wish of a job that may only use the controller of `host`.
fn wish_on(host: &str, job: u32, ipus: u64, duration: i64) -> Wish {
    Wish { controllers: Some([id("pod64", host).controller].into()), ..wish(job, ipus, duration) }
}

#[test]
fn a_job_with_the_nodes_of_a_controller_waits_for_that_one_only() {
    const HOUR: i64 = 3600;
    let mut scripted = fresh(&["a", "b"]);
    list(&mut scripted, "a", 64, 0);
    list(&mut scripted, "b", 64, 0);
    begin(&mut scripted, "1", "b");
    let ends = jobs(0, &[(1, HOUR)]);
    let whole = wish_on("b", 10, 64, HOUR);
    let why = scripted.ledger.may_start(&whole, &ends).unwrap_err().to_string();
    assert_eq!(why, "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32");
    assert_eq!(scripted.ledger.plan(&whole, Seconds(0), &ends), Some(Seconds(HOUR + 1)));
    // Its plan is in nobody's way on the other controller, and in the way of a long job on its own.
    assert!(scripted.ledger.may_start(&wish_on("a", 11, 64, 5 * HOUR), &ends).is_ok());
    let behind = scripted.ledger.may_start(&wish_on("b", 12, 16, 5 * HOUR), &ends);
    assert!(matches!(behind, Err(Wait::Planned { job: 10, .. })), "{behind:?}");
    let on_any = scripted.ledger.may_start(&wish(12, 16, 5 * HOUR), &ends);
    assert_eq!(on_any.unwrap().host(), "a");
}
