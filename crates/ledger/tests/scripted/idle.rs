//! Partitions that stay after their jobs.

use std::time::Duration;

use ledger::{
    DriverAction, Event, IdleRules, KeepIdleFor, ModelFacts, Rank, ReuseReset, Seconds, SeenPartition, Wish,
};
use vipu_types::{PartitionId, Shape};

use crate::script::{Scripted, asks, claim, drain, idle_pod, jobs, pod, seen, wish};

/// Runs a job of 16 IPUs until its partition is idle.
fn run(scripted: &mut Scripted, job: u32, reset: ReuseReset) {
    let idle = if reset == ReuseReset::Always { "idle-reset" } else { "idle" };
    scripted.runs(job);
    scripted.play(&format!(
        "fini {job} held   -> await-nodes {job}
         nodes-done {job}  -> {idle} {job}
         idle {job}        -> complete {job}, kick"
    ));
}

fn idle_for(scripted: &Scripted, job: u32, user: u32) -> Option<PartitionId> {
    let shape = Shape::default();
    let idle = scripted.ledger.idle_for(&wish(job, 16, 60), &claim("1").controller, user, shape);
    idle.map(|(partition, _)| partition)
}

#[test]
fn reuse_gives_a_reset_partition_to_any_user() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    run(&mut scripted, 7, ReuseReset::Always);
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
    assert_eq!(idle_for(&scripted, 8, 1001), Some(claim("7").partition));
    scripted.play(
        "begin 8 on 7 as 1001  -> reuse 7 for 8
         started 7             ->
         up 7                  -> launch 7 for 8, survey pod64
         launched 7            ->
         begin 7r1             -> create 7r1
         fini 8 held           -> await-nodes 7 for 8
         nodes-done 7          -> idle-reset 7 for 8
         idle 7                -> complete 7 for 8, kick",
    );
    assert_eq!(scripted.ledger.live_claim(7).map(|claim| &claim.partition), Some(&claim("7r1").partition));
}

#[test]
fn idle_partitions_go_when_an_administrator_frees_them() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    run(&mut scripted, 7, ReuseReset::Always);
    scripted.play(
        "freed 7       -> remove 7
         freed 7       ->
         gone 7        -> kick, survey pod64",
    );
}

#[test]
fn reuse_resets_for_another_user_if_the_last_job_did_not() {
    let mut scripted = idle_pod(ReuseReset::OtherUsers, None);
    run(&mut scripted, 7, ReuseReset::OtherUsers);
    run(&mut scripted, 9, ReuseReset::OtherUsers);
    scripted.play(
        "begin 8 on 7          -> reuse 7 for 8
         up 7                  -> launch 7 for 8, survey pod64
         begin 10 on 9 as 1001 -> reset 9 for 10",
    );
}

#[test]
fn reuse_prefers_a_partition_that_needs_no_reset() {
    let mut scripted = idle_pod(ReuseReset::OtherUsers, None);
    run(&mut scripted, 7, ReuseReset::OtherUsers);
    scripted.play(
        "begin 9 as 1001   -> create 9
         up 9              -> launch 9, survey pod64
         launched 9        ->
         fini 9            -> await-nodes 9
         nodes-done 9      -> idle 9
         idle 9            -> kick",
    );
    assert_eq!(idle_for(&scripted, 8, 1000), Some(claim("7").partition));
    assert_eq!(idle_for(&scripted, 8, 1001), Some(claim("9").partition));
    // Otherwise the last one.
    assert_eq!(idle_for(&scripted, 8, 1002), Some(claim("9").partition));
}

#[test]
fn reuse_serves_prepared_jobs_too() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    run(&mut scripted, 7, ReuseReset::Always);
    scripted.play(
        "prepare 8 on 7    -> reuse 7 for 8
         up 7              -> kick, survey pod64
         begin 8 on 7      -> bind 7 for 8",
    );
}

#[test]
fn reuse_is_not_for_partitions_of_failed_creates_and_resets() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    scripted.play(
        "begin 7       -> create 7
         failed 7      -> fail 7 (no room), survey pod64
         fini 7 held   -> await-nodes 7
         nodes-done 7  -> remove 7
         gone 7        -> complete-both 7, kick, survey pod64
         begin 8       -> create 8
         up 8          -> launch 8, survey pod64
         launched 8    ->
         fini 8 held   -> await-nodes 8
         nodes-done 8  -> idle-reset 8
         overdue 8     -> complete 8
         not-idle 8    -> remove 8
         gone 8        -> kick, survey pod64",
    );
}

#[test]
fn idle_partitions_go_when_another_size_needs_their_ipus() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    [1, 2, 3].into_iter().for_each(|job| scripted.runs(job));
    let there = || [1, 2, 3].map(|n| seen(&format!("slurm_{n}"), (n - 1) * 16..n * 16)).to_vec();
    scripted.lists(there());
    for job in [1, 2, 3] {
        scripted.play(&format!(
            "fini {job}       -> await-nodes {job}
             nodes-done {job} -> idle-reset {job}
             idle {job}       -> kick"
        ));
    }
    scripted.lists(there());
    // There is room for 16, and not for 32: the partition next to it goes, not the older ones.
    scripted.runs(4);
    scripted.play(
        "fini 4            -> await-nodes 4
         nodes-done 4      -> idle-reset 4
         not-idle 4        -> remove 4
         gone 4            -> kick, survey pod64
         begin 5 of 32     -> remove 3, create 5 after 3
         gone 3            -> kick, survey pod64",
    );
    // A controller that finds no room nevertheless gets all of it.
    assert_eq!(scripted.tell(Event::NoRoom(claim("5").partition)), "remove 1, remove 2");
}

#[test]
fn idle_partitions_of_a_size_that_the_first_in_line_does_not_want_go() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    scripted.runs(7);
    scripted.ledger.plan(&wish(9, 64, 60), Seconds(0), &jobs(0, &[(7, 100)]));
    scripted.play(
        "fini 7        -> await-nodes 7
         nodes-done 7  -> remove 7",
    );
}

#[test]
fn idle_partitions_stay_only_while_a_job_waits_for_their_size() {
    let mut scripted = idle_pod(ReuseReset::OtherUsers, None);
    let idle = IdleRules { keep: Duration::from_secs(1000), ..IdleRules::default() };
    scripted.tell(Event::Models(vec![ModelFacts { idle, ..pod("pod64") }]));
    [7, 8].into_iter().for_each(|job| scripted.runs(job));
    scripted.ledger.plan(&wish(9, 16, 60), Seconds(0), &jobs(0, &[(7, 100), (8, 100)]));
    scripted.play(
        "fini 7        -> await-nodes 7
         nodes-done 7  -> idle 7
         idle 7        -> kick",
    );
    scripted.lists(vec![seen("slurm_7", 0..16), seen("slurm_8", 16..32)]);
    // The first in line might wait for the removal.
    scripted.ledger.plan(
        &Wish { rank: Rank { tier: 2, ..wish(10, 64, 60).rank }, ..wish(10, 64, 60) },
        Seconds(0),
        &jobs(0, &[(8, 100)]),
    );
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16), seen("slurm_8", 16..32)]), "remove 7");
    scripted.ledger.leave_line(10);
    scripted.play(
        "fini 8        -> await-nodes 8
         nodes-done 8  -> idle 8
         idle 8        -> kick
         begin 9 on 8  -> reset 8 for 9
         up 8          -> launch 8 for 9, survey pod64
         launched 8    ->
         fini 9        -> await-nodes 8 for 9
         nodes-done 8  -> remove 8 for 9",
    );
}

#[test]
fn idle_partitions_go_when_they_are_too_old_too_many_broken_or_drained() {
    let mut scripted = idle_pod(ReuseReset::Always, Some(32));
    for job in [1, 2] {
        run(&mut scripted, job, ReuseReset::Always);
    }
    scripted.runs(3);
    scripted.play(
        "fini 3        -> await-nodes 3
         nodes-done 3  -> idle-reset 3
         idle 3        -> kick, remove 1
         gone 1        -> kick, survey pod64",
    );
    let there = || vec![seen("slurm_2", 16..32), seen("slurm_3", 32..48)];
    assert_eq!(scripted.lists(there()), "");
    let mut broken = there();
    broken[0].fault = Some("link".into());
    assert_eq!(scripted.lists(broken), "remove 2");
    scripted.play("gone 2 -> kick, survey pod64");
    scripted.now.0 += 999_000;
    assert_eq!(scripted.lists(vec![seen("slurm_3", 32..48)]), "");
    scripted.now.0 += 1000;
    assert_eq!(scripted.lists(vec![seen("slurm_3", 32..48)]), "remove 3");
    scripted.play("gone 3 -> kick, survey pod64");

    run(&mut scripted, 4, ReuseReset::Always);
    scripted.lists(vec![seen("slurm_4", 0..16)]);
    assert_eq!(scripted.tell(drain("pod64", Some(3))), "remove 4");
}

#[test]
fn idle_partitions_go_with_the_settings_they_were_made_for() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    run(&mut scripted, 7, ReuseReset::Always);
    let actions = scripted.tell(Event::Models(vec![ModelFacts { largest: 32, ..pod("pod64") }]));
    assert_eq!(actions, "remove 7, survey pod64");
}

#[test]
fn reuse_is_not_for_partitions_of_other_settings_or_with_a_fault_or_a_drain() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    let removed = "fini 7        -> await-nodes 7
                   nodes-done 7  -> remove 7
                   gone 7        -> kick, survey pod64";
    scripted.runs(7);
    let keep = Duration::from_secs(1000);
    let keep_for = KeepIdleFor::AnyJob;
    let idle = IdleRules { keep, keep_for, settings: 1, ..IdleRules::default() };
    scripted.tell(Event::Models(vec![ModelFacts { idle: idle.clone(), ..pod("pod64") }]));
    scripted.play(removed);
    // Other facts of the model do not matter.
    scripted.now.0 += 4_000_000;
    scripted.runs(7);
    scripted.tell(Event::Models(vec![ModelFacts { idle, largest: 32, ..pod("pod64") }]));
    scripted.lists(vec![SeenPartition { fault: Some("link".into()), ..seen("slurm_7", 0..16) }]);
    scripted.lists(vec![seen("slurm_7", 0..16)]);
    scripted.play(removed);
    scripted.now.0 += 4_000_000;
    scripted.runs(7);
    scripted.lists(vec![seen("slurm_7", 0..16)]);
    scripted.play(
        "fini 7        -> await-nodes 7
         nodes-done 7  -> idle-reset 7",
    );
    scripted.tell(drain("pod64", Some(3)));
    scripted.play("idle 7 -> kick, remove 7");
}

#[test]
fn idle_partition_that_vanished_is_forgotten_or_made_anew() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    run(&mut scripted, 7, ReuseReset::Always);
    run(&mut scripted, 8, ReuseReset::Always);
    scripted.lists(vec![seen("slurm_8", 16..32)]);
    assert_eq!(idle_for(&scripted, 9, 1000), Some(claim("8").partition));
    scripted.now.0 += 40_000;
    assert_eq!(scripted.lists(vec![seen("slurm_8", 16..32)]), "remove 7");
    let actions = scripted
        .ledger
        .apply(scripted.now, Event::begin(ledger::Claim { partition: claim("8").partition, ..claim("9") }));
    assert!(matches!(&actions[..], [ledger::Action::Driver(DriverAction::Reuse { reset: false, .. })]));
}

#[test]
fn reuse_is_not_for_partitions_whose_job_may_still_have_processes() {
    let mut scripted = idle_pod(ReuseReset::Always, None);
    scripted.runs(7);
    scripted.play(
        "fini 7 held     -> await-nodes 7
         nodes-unknown 7 -> remove 7
         gone 7          -> complete 7, kick, survey pod64",
    );
}

#[test]
fn reuse_a_moment_before_a_restart_leaves_the_partition_to_the_later_job() {
    let scripts = [
        "adopt-ending 7               -> await-nodes 7
         adopt-running 8 on 7 later   -> complete 7
         fini 8                       -> await-nodes 7 for 8",
        "adopt-running 8 on 7 later   ->
         adopt-ending 7               -> complete 7
         fini 8                       -> await-nodes 7 for 8",
    ];
    scripts.into_iter().for_each(|script| Scripted::new().play(script));
}
