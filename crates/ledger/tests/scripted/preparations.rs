//! Partitions that are made while their jobs still wait, event by event.

use ledger::{Claim, Event, Seconds, SeenPartition};
use vipu_types::IpuCount;

use crate::script::{Scripted, asks, claim, empty_pod, jobs, play, seen, wish};

#[test]
fn a_job_begins_with_its_prepared_partition() {
    let mut scripted = Scripted::new();
    scripted.play(
        "prepare 7     -> create 7
         prepare 7     ->
         started 7     ->
         up 7          -> kick, survey pod64",
    );
    let early = scripted.ledger.preparation(7).unwrap();
    assert!(!early.claim.run.has_begun() && early.ready.is_some());
    scripted.play("begin 7 -> bind 7");
    assert!(scripted.ledger.is_launched(7) && scripted.ledger.preparation(7).is_none());
    assert_eq!(scripted.ledger.live_claim(7), Some(&claim("7")));
    scripted.play(
        "forgo 7       ->
         fini 7 held   -> await-nodes 7
         nodes-done 7  -> remove 7
         gone 7        -> complete 7, kick, survey pod64",
    );
    assert_eq!(scripted.ledger.view().claims, []);
}

#[test]
fn a_preparation_in_vain_leaves_nothing() {
    play(&[
        (
            "it goes when its partition is there",
            "prepare 7     -> create 7
             up 7          -> kick, survey pod64
             forgo 7       -> await-nodes 7
             forgo 7       ->
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
        (
            "Slurm says itself that it is over",
            "prepare 7     -> create 7
             up 7          -> kick, survey pod64
             fini 7        -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
        (
            "it goes while its partition is made, and is prepared once more before that is gone",
            "prepare 7       -> create 7
             started 7       ->
             forgo 7         -> cancel 7
             prepare 7       ->
             prepare 7p1     -> create 7p1
             cancelled 7     -> await-nodes 7
             nodes-done 7    -> remove 7
             up 7p1          -> kick, survey pod64
             gone 7          -> kick, survey pod64
             forgo 7         -> await-nodes 7p1
             nodes-done 7p1  -> remove 7p1
             gone 7p1        -> kick, survey pod64",
        ),
        (
            "it begins while its partition is made, and gets another",
            "prepare 7       -> create 7
             begin 7p1       -> cancel 7, create 7p1
             up 7            -> await-nodes 7
             nodes-done 7    -> remove 7
             up 7p1          -> launch 7p1, survey pod64
             gone 7          -> kick, survey pod64
             fini 7          -> await-nodes 7p1
             nodes-done 7p1  -> remove 7p1
             gone 7p1        -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn a_job_takes_only_the_partition_it_asked_for() {
    let others = [
        Claim { size: IpuCount::new(8).unwrap(), ..claim("7p1") },
        Claim { user: 1, ..claim("7p1") },
        claim("7r1"),
    ];
    for other in others {
        let mut scripted = Scripted::new();
        scripted.play("prepare 7 -> create 7\n up 7 -> kick, survey pod64");
        let todo = scripted.tell(Event::begin(other));
        assert!(todo.starts_with("await-nodes 7"), "{todo}");
        assert!(!scripted.ledger.is_launched(7) && scripted.ledger.launch_raised(7));
    }
}

#[test]
fn a_job_is_not_prepared_again_right_after_a_preparation_in_vain() {
    let mut scripted = Scripted::new();
    assert!(scripted.ledger.may_prepare(scripted.now, 7));
    scripted.play("prepare 7 -> create 7");
    assert!(!scripted.ledger.may_prepare(scripted.now, 7));
    scripted.play("failed 7 -> await-nodes 7, survey pod64");
    assert!(!scripted.ledger.may_prepare(scripted.now, 7));
    assert!(scripted.ledger.may_prepare(scripted.now, 8));
    scripted.now.0 += 600_000;
    assert!(scripted.ledger.may_prepare(scripted.now, 7));
    scripted.play("prepare 8 -> create 8\n up 8 -> kick, survey pod64\n forgo 8 in-vain -> await-nodes 8");
    assert!(!scripted.ledger.may_prepare(scripted.now, 8));
}

#[test]
fn a_controller_that_answers_nobody_is_not_held_against_the_job() {
    let mut scripted = Scripted::new();
    scripted.play("prepare 7 -> create 7\n away 7 ->\n failed 7 -> await-nodes 7, survey pod64");
    assert!(scripted.ledger.may_prepare(scripted.now, 7));
}

#[test]
fn a_prepared_partition_that_fails_is_given_up() {
    let broken = SeenPartition { fault: Some("an agent is gone".into()), ..seen("slurm_7", 0..16) };
    for listed in [vec![broken], vec![seen("slurm_7", 16..32)]] {
        let mut scripted = empty_pod();
        scripted.play("prepare 7 -> create 7\n up 7 -> kick, survey pod64\n launched 7 ->");
        assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "");
        assert_eq!(scripted.lists(listed), "await-nodes 7");
    }
    let mut scripted = empty_pod();
    scripted.play("prepare 7 -> create 7\n up 7 -> kick, survey pod64\n launched 7 ->");
    for todo in ["", "await-nodes 7"] {
        assert_eq!(scripted.lists(vec![]), todo);
        scripted.now.0 += 30_000;
    }
}

#[test]
fn a_prepared_partition_counts_as_used_and_is_no_plan_any_more() {
    let mut scripted = empty_pod();
    let line = jobs(0, &[]);
    scripted.ledger.plan(&wish(7, 64, 100), Seconds(0), &line);
    scripted.tell(Event::Prepare(Claim { size: IpuCount::new(32).unwrap(), ..claim("7") }));
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32");
    // The wish of job 7 is being granted and keeps no other job waiting.
    assert!(scripted.ledger.may_start(&wish(8, 32, 1_000_000), &line).is_ok());
}

#[test]
fn a_create_without_hope_ends_and_the_job_waits() {
    let mut scripted = empty_pod();
    scripted.play("prepare 7 -> create 7\n started 7 ->\n no-room 7 ->");
    assert_eq!(scripted.lists(vec![seen("foreign", 0..64)]), "cancel 7");
    scripted.play("cancelled 7 -> await-nodes 7");
}
