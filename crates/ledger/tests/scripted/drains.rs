//! IPUs on which administrators let nothing new start.

use crate::script::{
    asks, drain, earliest, empty_pod, id, jobs, pod, pod_with, pod_with_a_second_controller, row_of, scope,
    seen, wish,
};
use ledger::{Candidate, Claim, Drain, DrainScope, Event, Ledger, Place, Placement, Seconds};

const REASON: &str = "vipu: pod64 is drained: new switch";

fn until(hours: i64, event: Event) -> Event {
    let Event::Drain(drain) = event else { panic!("{event:?} is no drain") };
    Event::Drain(Drain { until: Some(Seconds(hours * 3600)), ..drain })
}

#[test]
fn nothing_starts_on_a_drained_model_until_it_is_resumed() {
    let mut scripted = empty_pod();
    assert_eq!(scripted.tell(drain("pod64", None)), "");
    assert_eq!([1, 64].map(|size| asks(&scripted, "pod64", size)), [REASON; 2]);
    assert_eq!(scripted.tell(Event::Resume(scope("pod64", Some(3)))), "", "another scope");
    assert_eq!(asks(&scripted, "pod64", 1), REASON);
    assert_eq!(scripted.tell(Event::Resume(scope("pod64", None))), "kick");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
}

#[test]
fn jobs_that_have_their_ipus_go_on() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    scripted.play("started 1 -> ");
    scripted.tell(drain("pod64", None));
    scripted.play("up 1 -> launch 1, survey pod64");
    scripted.play("launched 1 -> ");
    assert_eq!(scripted.lists(vec![seen("slurm_1", 0..16)]), "");
    scripted.play(
        "fini 1 held -> await-nodes 1
         nodes-done 1 -> remove 1
         gone 1 -> complete 1, kick, survey pod64",
    );
    assert_eq!(asks(&scripted, "pod64", 1), REASON, "the freed IPUs are drained too");
}

/// A create that is refused for a moment is tried again, drained or not.
#[test]
fn a_create_under_way_is_not_given_up() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    scripted.tell(drain("pod64", None));
    scripted.play("no-room 1 -> ");
    scripted.now.0 += 60_000;
    assert_eq!(scripted.lists(vec![]), "");
}

#[test]
fn a_prepared_partition_on_drained_ipus_is_given_up() {
    let mut scripted = empty_pod();
    scripted.play("prepare 1 -> create 1");
    scripted.play("up 1 -> kick, survey pod64");
    scripted.lists(vec![seen("slurm_1", 0..16)]);
    assert_eq!(scripted.tell(drain("pod64", Some(20))), "", "another IPU");
    assert_eq!(scripted.tell(drain("pod64", Some(15))), "await-nodes 1");
}

#[test]
fn an_ipu_is_left_out_of_new_partitions() {
    let mut scripted = pod_with(Placement::Explicit, &[]);
    scripted.tell(drain("pod64", Some(3)));
    let full = "vipu: 64 IPUs of pod64 needed, 63 free, largest block 32; 1 drained";
    assert_eq!(asks(&scripted, "pod64", 64), full);
    let line = jobs(0, &[]);
    for size in [1, 2, 4, 32] {
        let wish = wish(7, size, 60);
        let controller = scripted.ledger.may_start(&wish, &line).unwrap();
        let places = scripted.ledger.place(&wish, &controller, &line);
        assert!(!places.is_empty() && !places.contains(&Place { domain: 0, index: 3 }), "{size}: {places:?}");
    }
    assert_eq!(scripted.tell(Event::Resume(scope("pod64", Some(3)))), "kick");
}

#[test]
fn other_controllers_of_the_model_take_the_jobs() {
    let mut scripted = pod_with_a_second_controller();
    let at = |host| DrainScope { controller: Some(id("pod64", host).controller), ..scope("pod64", None) };
    let Event::Drain(of_model) = drain("pod64", None) else { unreachable!() };
    scripted.tell(Event::Drain(Drain { scope: at("vipu"), ..of_model.clone() }));
    assert_eq!(asks(&scripted, "pod64", 4), "fits");
    let full = "vipu: 8 IPUs of pod64 needed, 4 free, largest block 4; 64 drained";
    assert_eq!(asks(&scripted, "pod64", 8), full);
    scripted.tell(Event::Drain(Drain { scope: at("b"), reason: "old".into(), ..of_model }));
    assert_eq!(asks(&scripted, "pod64", 4), REASON, "the reason of the first controller");
    // Another reason replaces the drain, and the end of one leaves the other.
    assert_eq!(scripted.tell(Event::Resume(at("vipu"))), "kick");
    assert_eq!(scripted.ledger.drains().len(), 1);
}

#[test]
fn forecasts_know_the_end_of_a_drain() {
    let mut scripted = row_of(&[(1, 32)]);
    assert_eq!(earliest(&mut scripted, 32, &[(1, 7200)]), Some(0));
    scripted.tell(drain("pod64", None));
    assert_eq!(earliest(&mut scripted, 32, &[(1, 7200)]), None, "unknown");
    scripted.tell(until(1, drain("pod64", None)));
    assert_eq!(earliest(&mut scripted, 32, &[(1, 7200)]), Some(3601));
    assert_eq!(earliest(&mut scripted, 64, &[(1, 7200)]), Some(7201), "the job is later");
    assert_eq!(scripted.ledger.drains().len(), 1);
}

#[test]
fn no_job_is_preempted_for_drained_ipus() {
    let mut scripted = row_of(&[(1, 32), (2, 32)]);
    let candidates = [1, 2].map(|job| Candidate { job, dying: false });
    let line = jobs(0, &[(1, 7200), (2, 7200)]);
    scripted.tell(drain("pod64", Some(0)));
    assert_eq!(scripted.ledger.victims(&wish(9, 32, 60), &candidates, &line), Some(vec![2]));
    assert_eq!(scripted.ledger.victims(&wish(9, 64, 60), &candidates, &line), None);
}

/// The drains of an earlier slurmctld are told before the models are known.
#[test]
fn a_model_to_come_may_be_drained() {
    let mut scripted = crate::script::Scripted { ledger: Ledger::new(), now: ledger::Millis(1000) };
    scripted.tell(drain("pod64", None));
    scripted.tell(Event::Models(vec![pod("pod64")]));
    assert_eq!(scripted.lists(vec![]), "");
    assert_eq!(asks(&scripted, "pod64", 1), REASON);
    let running = Claim { ..crate::script::claim("1") };
    scripted.tell(Event::Adopt(running, ledger::AdoptedAs::Running));
    assert_eq!(asks(&scripted, "pod64", 1), REASON);
}
