//! The comparison of listings with claims.

use std::time::Duration;

use ledger::{Event, ModelFacts, SeenPartition};

use crate::script::{Scripted, empty_pod, foreign, id, listing, pod, seen};

/// Returns a ledger in which job 7 is launched.
fn launched() -> Scripted {
    let mut scripted = empty_pod();
    scripted.runs(7);
    scripted
}

/// Returns a ledger in which job 7 runs on a partition that a listing showed.
fn running() -> Scripted {
    let mut scripted = launched();
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "");
    scripted
}

fn broken(words: &str) -> SeenPartition {
    SeenPartition { fault: Some(words.into()), ..seen("slurm_7", 0..16) }
}

#[test]
fn an_unclaimed_partition_is_reported_once() {
    let mut scripted = running();
    let theirs = || vec![seen("slurm_7", 0..16), seen("slurm_8", 16..20), seen("slurm_9r2", 20..21)];
    assert_eq!(scripted.lists(theirs()), "unclaimed 8, unclaimed 9r2");
    assert_eq!(scripted.lists(theirs()), "");
    assert_eq!((foreign(&scripted, "vipu"), scripted.ledger.models()[0].pods[0].free), (2, 43));
    // A partition is reported again after it was removed, also if it was made again before the next listing.
    let (gone, partition) = (id("pod64", "vipu"), theirs()[2].partition.clone());
    assert_eq!(scripted.tell(Event::UnclaimedGone { pod: gone, partition }), "");
    assert_eq!(scripted.lists(theirs()), "unclaimed 9r2");
    // A partition is reported again after it was missing, and after a change of the configuration.
    assert_eq!(scripted.lists(theirs()[..2].to_vec()), "");
    assert_eq!(scripted.lists(theirs()), "unclaimed 9r2");
    scripted.tell(Event::Models(vec![pod("pod64")]));
    assert_eq!(scripted.lists(theirs()), "unclaimed 8, unclaimed 9r2");
}

#[test]
fn a_partition_with_another_name_is_left_alone() {
    let mut scripted = running();
    let theirs = ["slurm", "slurm_x", "other_8", "slurm_08"].into_iter().zip(16..);
    let theirs = theirs.map(|(id, ipu)| seen(id, [ipu])).chain([seen("slurm_7", 0..16)]).collect();
    assert_eq!(scripted.lists(theirs), "");
}

#[test]
fn a_partition_under_removal_or_gone_is_not_reported() {
    let mut scripted = running();
    scripted.play("fini 7 -> await-nodes 7");
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "");
    assert_eq!(scripted.lists(vec![]), "");
    scripted.play(
        "nodes-done 7 -> remove 7
         gone 7       -> kick, survey pod64",
    );
    let stale = listing(&scripted, 64, vec![seen("slurm_7", 0..16)]);
    assert_eq!(scripted.tell(stale), "");
}

const VANISHED: &str = "broken 7 (its controller does not know it any more)";

/// Tells a listing of these partitions after this many seconds and returns the actions.
fn later(scripted: &mut Scripted, seconds: u64, partitions: Vec<SeenPartition>) -> String {
    scripted.now.0 += 1000 * seconds;
    scripted.lists(partitions)
}

#[test]
fn a_partition_missing_in_two_listings_has_vanished() {
    let mut scripted = running();
    let there = || vec![seen("slurm_7", 0..16)];
    assert_eq!(scripted.lists(vec![]), "");
    assert_eq!(later(&mut scripted, 30, there()), "");
    assert_eq!(later(&mut scripted, 30, vec![]), "");
    for _ in 0..5 {
        assert_eq!(later(&mut scripted, 5, vec![]), "", "it is too early to say so");
    }
    assert_eq!(later(&mut scripted, 5, vec![]), VANISHED);
    assert_eq!(later(&mut scripted, 60, vec![]), "");
    // The IPUs still count as used, because the controller may have lost its memory while the job has its
    // IPUs.
    assert_eq!(scripted.ledger.view().models[0].pods[0].free, 48);
}

/// With a shorter ReconcileInterval, the two listings still have to be 10 s apart.
#[test]
fn two_listings_count_only_ten_seconds_apart() {
    let mut scripted = running();
    let often = ModelFacts { reconcile_interval: Duration::from_secs(1), ..pod("pod64") };
    scripted.tell(Event::Models(vec![often]));
    for _ in 0..10 {
        assert_eq!(later(&mut scripted, 1, vec![]), "");
    }
    assert_eq!(later(&mut scripted, 1, vec![]), VANISHED);
}

#[test]
fn a_controller_that_was_away_is_asked_twice_anew() {
    let mut scripted = running();
    assert_eq!(scripted.lists(vec![]), "");
    scripted.now.0 += 60_000;
    scripted.play("away 7 ->");
    assert_eq!(scripted.lists(vec![]), "kick", "it may not have loaded what it knows");
    assert_eq!(later(&mut scripted, 29, vec![]), "");
    assert_eq!(later(&mut scripted, 1, vec![]), VANISHED);
}

#[test]
fn a_controller_that_suddenly_lists_nothing_is_asked_twice_anew() {
    let mut scripted = running();
    scripted.runs(8);
    let eighth = || vec![seen("slurm_8", 16..32)];
    assert_eq!(later(&mut scripted, 1, eighth()), "");
    assert_eq!(later(&mut scripted, 30, vec![]), "", "both at once");
    let both = format!("{VANISHED}, {}", VANISHED.replace('7', "8"));
    assert_eq!(later(&mut scripted, 30, vec![]), both);
}

/// Another client of the controller removes the partition.
#[test]
fn a_partition_shown_as_removed_counts_as_missing() {
    let mut scripted = running();
    let removed = || vec![SeenPartition { leaving: true, ..seen("slurm_7", 0..16) }];
    assert_eq!(scripted.lists(removed()), "");
    assert_eq!(later(&mut scripted, 30, removed()), VANISHED);
    let theirs = || vec![SeenPartition { leaving: true, ..seen("slurm_8", 16..20) }];
    assert_eq!(scripted.lists(theirs()), "", "soon it is nobody's");
}

#[test]
fn a_changed_error_is_reported() {
    let mut scripted = running();
    assert_eq!(scripted.lists(vec![broken("link down")]), "broken 7 (link down)");
    assert_eq!(scripted.lists(vec![broken("link down")]), "");
    assert_eq!(scripted.lists(vec![broken("agent gone")]), "broken 7 (agent gone)");
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "");
    assert_eq!(scripted.lists(vec![broken("agent gone")]), "broken 7 (agent gone)");
}

#[test]
fn a_partition_elsewhere_is_relocated() {
    let mut scripted = running();
    assert_eq!(scripted.lists(vec![seen("slurm_7", 16..32)]), "refresh 7, relocated 7");
    assert_eq!(scripted.lists(vec![seen("slurm_7", (16..32).rev())]), "");
    assert_eq!(scripted.lists(vec![seen("slurm_7", [])]), "");
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "refresh 7, relocated 7");
}

#[test]
fn a_partition_moved_to_mend_it_is_relocated() {
    let mut scripted = launched();
    assert_eq!(scripted.lists(vec![broken("link down")]), "broken 7 (link down)");
    assert_eq!(scripted.lists(vec![seen("slurm_7", 16..32)]), "refresh 7, relocated 7");
}

#[test]
fn a_partition_renumbered_without_an_agent_has_not_moved() {
    let mut scripted = launched();
    for (ipus, places, follows) in [(64, 32..48, ""), (32, 0..16, ""), (64, 32..48, "kick")] {
        scripted.now.0 += 1;
        let seen = listing(&scripted, ipus, vec![seen("slurm_7", places)]);
        assert_eq!(scripted.tell(seen), follows);
    }
    assert_eq!(scripted.lists(vec![seen("slurm_7", 0..16)]), "refresh 7, relocated 7");
}

#[test]
fn a_listing_from_before_the_launch_says_nothing_of_it() {
    let mut scripted = empty_pod();
    scripted.play("begin 7 -> create 7 \n up 7 -> launch 7, survey pod64");
    let before = listing(&scripted, 64, vec![]);
    scripted.play("launched 7 -> ");
    assert_eq!(scripted.tell(before), "");
}
