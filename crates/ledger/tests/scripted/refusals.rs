//! Controllers that refuse a partition for want of room, although the ledger or their listing shows room.

use crate::script::{Scripted, asks, claim, empty_pod, id, pod, seen};
use ledger::{Claim, Event, Millis, ModelFacts, Place, Placement, SeenPartition};
use vipu_types::IpuCount;

/// Returns the actions after a controller had no room for the partition of job 1 and lists these partitions.
fn after_no_room(theirs: &[(&str, u32)], before: &[&str]) -> String {
    let mut scripted = empty_pod();
    let mut first = 0;
    let mut there = vec![];
    for job in before {
        scripted.tell(Event::begin(claim(job)));
        there.push(seen(&format!("slurm_{job}"), first..first + 16));
        first += 16;
    }
    scripted.tell(Event::begin(claim("1")));
    scripted.play("started 1 ->");
    scripted.play("no-room 1 ->");
    for (id, ipus) in theirs {
        there.push(seen(id, first..first + ipus));
        first += ipus;
    }
    scripted.lists(there)
}

#[test]
fn a_create_goes_on_while_there_is_hope_of_room() {
    assert_eq!(after_no_room(&[], &[]), "", "the listing has room");
    assert_eq!(after_no_room(&[("theirs", 32)], &[]), "", "one half is free");
    assert_eq!(after_no_room(&[("theirs", 64)], &[]), "cancel 1");
    assert_eq!(after_no_room(&[("theirs", 16)], &["2", "3"]), "");
    assert_eq!(after_no_room(&[("theirs", 32)], &["2", "3"]), "cancel 1", "jobs 2 and 3 go on running");
}

#[test]
fn a_create_given_up_for_want_of_room_may_end_in_four_ways() {
    for rest in [
        "cancelled 1 -> back 1 (no room for 16 IPUs on pod64 (vipu:8090): others have come to use it), survey pod64",
        "up 1 -> launch 1, survey pod64",
        "fini 1 held -> \n cancelled 1 -> await-nodes 1",
        "fini 1 -> drop 1 \n up 1 -> await-nodes 1",
    ] {
        let mut scripted = empty_pod();
        scripted.tell(Event::begin(claim("1")));
        scripted.play("no-room 1 ->");
        assert_eq!(scripted.lists(vec![seen("theirs", 0..64)]), "cancel 1");
        scripted.play(rest);
    }
}

const MINUTE: u64 = 60_000;

/// Tells a listing with these partitions and this many faulty IPUs.
fn lists(scripted: &mut Scripted, faulty: u32, partitions: &[SeenPartition]) -> String {
    let (pod, asked, partitions) = (id("pod64", "vipu"), scripted.now, partitions.to_vec());
    scripted.tell(Event::Inventory { pod, asked, ipus: 64, faulty, partitions })
}

/// Has job 1 ask for this many IPUs and refuses them twice, which gives up its create.
fn refused(scripted: &mut Scripted, ipus: u64, faulty: u32, there: &[SeenPartition], at: &[u32]) {
    let places = at.iter().map(|&index| Place { domain: 0, index }).collect();
    scripted.tell(Event::begin(Claim { size: IpuCount::new(ipus).unwrap(), ipus: places, ..claim("1") }));
    scripted.play("no-room 1 ->");
    assert_eq!(lists(scripted, faulty, there), "", "once is not enough");
    scripted.play("no-room 1 ->");
    assert_eq!(lists(scripted, faulty, there), "cancel 1");
    let why = "its controller refuses them although they look free";
    let back = format!("back 1 (no room for {ipus} IPUs on pod64 (vipu:8090): {why}), survey pod64");
    scripted.play(&format!("cancelled 1 -> {back}"));
    scripted.play(
        "fini 1 held -> await-nodes 1
        nodes-done 1 -> remove 1
        gone 1 -> complete-both 1, kick, survey pod64",
    );
}

#[test]
fn the_faulty_ipu_is_where_the_controller_refuses() {
    let mut scripted = empty_pod();
    let there = [seen("theirs", [0])];
    lists(&mut scripted, 1, &there);
    assert_eq!(asks(&scripted, "pod64", 32), "fits", "the faulty IPU is taken to be the second one");
    refused(&mut scripted, 32, 1, &there, &[]);
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 62 free, largest block 16");
    assert_eq!(lists(&mut scripted, 1, &there), "", "nothing new");
    assert_eq!(lists(&mut scripted, 0, &there), "kick", "it was mended");
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
}

#[test]
fn without_a_faulty_ipu_one_of_each_block_is_unusable() {
    let mut scripted = empty_pod();
    refused(&mut scripted, 16, 0, &[], &[]);
    assert_eq!(asks(&scripted, "pod64", 16), "vipu: 16 IPUs of pod64 needed, 60 free, largest block 8");
    let suspected = scripted.now;
    scripted.now = Millis(suspected.0 + MINUTE / 2);
    assert_eq!(lists(&mut scripted, 0, &[]), "", "it is too early to try again");
    scripted.now = Millis(suspected.0 + MINUTE);
    assert_eq!(lists(&mut scripted, 0, &[]), "kick");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
}

#[test]
fn suspects_count_before_assumed_faulty_ipus() {
    let mut scripted = empty_pod();
    lists(&mut scripted, 1, &[]);
    // The faulty IPU is taken to be the first one, then another. With it alone the lower half would be free.
    refused(&mut scripted, 32, 1, &[], &[]);
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 62 free, largest block 16");
}

#[test]
fn an_ipu_that_is_in_use_works() {
    let mut scripted = empty_pod();
    refused(&mut scripted, 32, 0, &[], &[]);
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 62 free, largest block 16");
    assert_eq!(lists(&mut scripted, 0, &[seen("theirs", 32..40)]), "");
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 55 free, largest block 16");
    assert_eq!(lists(&mut scripted, 0, &[]), "kick", "of the upper half nothing bad is known any more");
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 63 free, largest block 32");
}

#[test]
fn a_refused_place_makes_no_other_place_suspect() {
    let mut scripted = empty_pod();
    scripted.tell(Event::Models(vec![ModelFacts { placement: Placement::Explicit, ..pod("pod64") }]));
    refused(&mut scripted, 16, 0, &[], &(16..32).collect::<Vec<_>>());
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 63 free, largest block 32");
}

#[test]
fn large_partitions_are_refused_for_want_of_domains() {
    let mut scripted = empty_pod();
    let domains = ModelFacts { domain_size: IpuCount::new(16).unwrap(), ..pod("pod64") };
    scripted.tell(Event::Models(vec![domains]));
    refused(&mut scripted, 32, 0, &[], &[]);
    // At most one domain is whole.
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 61 free, largest block 16");
}

/// Returns a ledger in which the partition of job 2 on the whole Pod is just gone, and job 1 has begun.
fn just_removed() -> Scripted {
    let mut scripted = empty_pod();
    let whole = |job| Claim { size: IpuCount::new(64).unwrap(), ..claim(job) };
    scripted.tell(Event::begin(whole("2")));
    lists(&mut scripted, 0, &[seen("slurm_2", 0..64)]);
    scripted.play(
        "up 2         -> launch 2, survey pod64
         launched 2   ->
         fini 2 held  -> await-nodes 2
         nodes-done 2 -> remove 2
         gone 2       -> complete 2, kick, survey pod64",
    );
    scripted.tell(Event::begin(whole("1")));
    scripted
}

/// Refuses job 1 twice, each time followed by an empty listing. Returns the actions.
fn refused_twice(scripted: &mut Scripted) -> String {
    for _ in 0..2 {
        scripted.play("no-room 1 ->");
        let follows = lists(scripted, 0, &[]);
        if !follows.is_empty() {
            return follows;
        }
    }
    String::new()
}

#[test]
fn just_after_a_removal_a_refusal_is_no_evidence() {
    let mut scripted = just_removed();
    assert_eq!(refused_twice(&mut scripted), "");
    scripted.now.0 += 9_000;
    assert_eq!(refused_twice(&mut scripted), "");
    assert!(asks(&scripted, "pod64", 1).ends_with("0 free, largest block 0"), "no IPU is taken as broken");
    scripted.now.0 += 1_000;
    assert_eq!(refused_twice(&mut scripted), "cancel 1");
}

#[test]
fn a_removal_by_others_is_waited_for() {
    let mut scripted = empty_pod();
    scripted.tell(Event::begin(claim("1")));
    let there = [SeenPartition { leaving: true, ..seen("theirs", 32..64) }];
    for _ in 0..5 {
        scripted.play("no-room 1 ->");
        assert_eq!(lists(&mut scripted, 0, &there), "");
    }
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 16 free, largest block 16");
    assert_eq!(lists(&mut scripted, 0, &[]), "kick");
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
}

/// Otherwise a job without room would hold its nodes in vain as long as others come and go.
#[test]
fn removals_elsewhere_explain_a_refusal_only_for_a_while() {
    let mut scripted = empty_pod();
    scripted.tell(Event::begin(claim("1")));
    let there = [SeenPartition { leaving: true, ..seen("theirs", 32..48) }];
    for seconds in (0..60).step_by(5) {
        scripted.play("no-room 1 ->");
        assert_eq!(lists(&mut scripted, 0, &there), "", "after {seconds} s");
        scripted.now.0 += 5_000;
    }
    scripted.play("no-room 1 ->");
    lists(&mut scripted, 0, &there);
    scripted.play("no-room 1 ->");
    assert_eq!(lists(&mut scripted, 0, &there), "cancel 1");
}

#[test]
fn a_removal_of_this_cluster_is_waited_for() {
    let mut scripted = empty_pod();
    let (theirs, ours) = (seen("theirs", 32..48), seen("slurm_2", 0..16));
    let there = [theirs.clone(), ours];
    scripted.tell(Event::begin(claim("2")));
    lists(&mut scripted, 0, &there);
    scripted.play("fini 2 -> drop 2, cancel 2");
    scripted.tell(Event::begin(Claim { size: IpuCount::new(32).unwrap(), ..claim("1") }));
    for _ in 0..5 {
        scripted.play("no-room 1 ->");
        assert_eq!(lists(&mut scripted, 0, &there), "");
    }
    assert_eq!(lists(&mut scripted, 0, &[theirs]), "");
    scripted.play("up 1 -> launch 1, survey pod64");
}
