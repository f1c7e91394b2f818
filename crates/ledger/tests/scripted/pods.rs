//! Listings and configuration, and the room that the ledger computes from them.

use crate::script::{Scripted, asks, claim, earliest, empty_pod, foreign, id, listing, pod, seen};
use ledger::{Event, ModelFacts, Violation};
use vipu_types::IpuCount;

fn unreachable() -> Event {
    Event::Unreachable { pod: id("pod64", "vipu"), reason: "connection refused".into() }
}

#[test]
fn nothing_fits_before_the_controller_answered() {
    let mut scripted = Scripted::new();
    assert_eq!(asks(&scripted, "pod64", 1), "vipu: no answer from the controller of pod64 yet");
    assert_eq!(asks(&scripted, "pod99", 1), "vipu: no model pod99 (models: pod64)");
    assert_eq!(scripted.tell(unreachable()), "");
    assert_eq!(asks(&scripted, "pod64", 1), "vipu: pod64: connection refused");
    assert_eq!(scripted.lists(vec![]), "kick");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
    assert_eq!(asks(&scripted, "pod64", 128), "vipu: 128 IPUs wanted, a job on pod64 gets at most 64");
}

#[test]
fn claims_use_ipus_from_begin_to_gone() {
    let mut scripted = empty_pod();
    for job in ["1", "2", "3", "4"] {
        assert_eq!(asks(&scripted, "pod64", 16), "fits", "{job}");
        scripted.tell(Event::begin(claim(job)));
    }
    let full = "vipu: 16 IPUs of pod64 needed, 0 free, largest block 0";
    assert_eq!(asks(&scripted, "pod64", 16), full);
    for line in ["up 2 -> launch 2, survey pod64", "fini 2 held -> await-nodes 2", "nodes-done 2 -> remove 2"]
    {
        scripted.play(line);
        assert_eq!(asks(&scripted, "pod64", 16), full, "{line}");
    }
    scripted.play("gone 2 -> complete 2, kick, survey pod64");
    assert_eq!(asks(&scripted, "pod64", 16), "fits");
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 16 free, largest block 16");
}

#[test]
fn a_listing_tells_where_claims_are() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
    assert_eq!(scripted.lists(vec![seen("slurm_1", 24..40)]), "");
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 48 free, largest block 16");
    // A claim that is listed without places is placed by the forecast again.
    assert_eq!(scripted.lists(vec![seen("slurm_1", [])]), "kick");
    let pod = &scripted.ledger.models()[0].pods[0];
    assert_eq!((pod.free, pod.largest_free, foreign(&scripted, "vipu")), (48, 32, 0));
}

#[test]
fn the_partition_of_an_earlier_run_counts_beside_that_of_the_next() {
    let mut scripted = empty_pod();
    let free = |scripted: &Scripted| scripted.ledger.view().models[0].pods[0].free;
    scripted.play("begin 1 -> create 1");
    scripted.lists(vec![seen("slurm_1", 0..16)]);
    scripted.play("begin 1p1 -> drop 1, cancel 1, create 1p1");
    assert_eq!(free(&scripted), 32);
    scripted.lists(vec![seen("slurm_1", 0..16)]);
    assert_eq!(free(&scripted), 32);
    scripted.play("up 1 -> await-nodes 1");
    scripted.play("nodes-done 1 -> remove 1");
    assert_eq!(free(&scripted), 32);
    scripted.play("gone 1 -> kick, survey pod64");
    assert_eq!(free(&scripted), 48);
}

#[test]
fn partitions_of_others_count() {
    let mut scripted = empty_pod();
    scripted.lists(vec![seen("theirs", [0, 1, 2]), seen("hidden", [])]);
    let pod = &scripted.ledger.models()[0].pods[0];
    assert_eq!((pod.free, pod.largest_free, foreign(&scripted, "vipu")), (60, 32, 2));
}

#[test]
fn a_partition_just_removed_is_not_somebody_elses() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    scripted.play("fini 1 -> drop 1, cancel 1");
    scripted.play("up 1 -> await-nodes 1");
    scripted.play("nodes-done 1 -> remove 1");
    let before = listing(&scripted, 64, vec![seen("slurm_1", 24..40)]);
    scripted.play("gone 1 -> kick, survey pod64");
    assert_eq!(scripted.tell(before.clone()), "");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
    // The run begins again, and the place in the earlier listing does not count for it.
    scripted.play("begin 1 -> create 1");
    scripted.tell(before);
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
    scripted.lists(vec![seen("slurm_1", 24..40)]);
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 48 free, largest block 16");
}

#[test]
fn an_older_listing_is_ignored() {
    let mut scripted = empty_pod();
    let old = listing(&scripted, 64, vec![seen("theirs", 0..64)]);
    scripted.lists(vec![]);
    assert_eq!(scripted.tell(old), "");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
}

#[test]
fn the_scheduler_looks_again_when_more_fits() {
    let mut scripted = empty_pod();
    for (indexes, kick) in
        [(0..64, ""), (0..48, "kick"), (0..48, ""), (0..40, ""), (0..32, "kick"), (0..33, ""), (0..0, "kick")]
    {
        let used = indexes.len();
        let partitions = if used == 0 { vec![] } else { vec![seen("theirs", indexes)] };
        assert_eq!(scripted.lists(partitions), kick, "{used} used");
    }
    assert_eq!(scripted.tell(unreachable()), "");
    assert_eq!(scripted.lists(vec![]), "kick");
}

#[test]
fn nonsense_is_not_believed() {
    let mut scripted = empty_pod();
    let huge = listing(&scripted, u32::MAX, vec![]);
    scripted.tell(huge);
    assert_eq!(
        asks(&scripted, "pod64", 1),
        "vipu: pod64: it lists 4294967295 IPUs, more than any system has"
    );
}

#[test]
fn configuration_comes_and_goes() {
    let mut scripted = empty_pod();
    let models = |facts: ModelFacts| Event::Models(vec![facts]);
    assert_eq!(scripted.tell(models(pod("pod64"))), "");
    let broken = ModelFacts { trouble: Some("vipu.conf: no ApiHost".into()), ..pod("pod64") };
    assert_eq!(scripted.tell(models(broken)), "survey pod64");
    assert_eq!(asks(&scripted, "pod64", 16), "vipu: pod64: vipu.conf: no ApiHost");
    assert_eq!(scripted.tell(models(pod("pod64"))), "survey pod64, kick");
    let small = ModelFacts { largest: 16, ..pod("pod64") };
    assert_eq!(scripted.tell(models(small)), "survey pod64");
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs wanted, a job on pod64 gets at most 16");
    let domains_of_4 = ModelFacts { domain_size: IpuCount::new(4).unwrap(), ..pod("pod64") };
    assert_eq!(scripted.tell(models(domains_of_4)), "survey pod64, kick");
    // 15 of the 16 domains are whole.
    scripted.lists(vec![seen("theirs", [0])]);
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 63 free, largest block 32");

    scripted.play("begin 1 -> create 1");
    assert_eq!(scripted.tell(models(pod("pod16"))), "survey pod16");
    assert_eq!(asks(&scripted, "pod64", 1), "vipu: no model pod64 (models: pod16)");
    scripted.play("fini 1 held -> cancel 1");
    scripted.play("up 1 -> await-nodes 1");
    assert_eq!(scripted.tell(models(pod("pod64"))), "survey pod64");
    assert_eq!(scripted.lists(vec![]), "kick");
    assert_eq!(scripted.ledger.view().models[0].pods[0].free, 48);
    scripted.play("nodes-done 1 -> remove 1");
    scripted.play("gone 1 -> complete-both 1, kick, survey pod64");
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
}

#[test]
fn impossible_states_are_reported() {
    let mut scripted = empty_pod();
    let both = listing(&scripted, 64, vec![seen("a", 0..2), seen("b", 1..3)]);
    scripted.ledger.apply(scripted.now, both);
    let texts = |scripted: &Scripted| -> Vec<String> {
        scripted.ledger.violations().iter().map(Violation::to_string).collect()
    };
    assert_eq!(
        texts(&scripted),
        ["pod64 (vipu:8090): IPU 1 of domain 0 is in partition a and in partition b"]
    );
    let shrunk = listing(&scripted, 8, vec![]);
    scripted.ledger.apply(scripted.now, Event::begin(claim("1")));
    scripted.ledger.apply(scripted.now, shrunk);
    assert_eq!(texts(&scripted), ["pod64 (vipu:8090): 16 IPUs are claimed and 0 free, but 8 there are"]);
}

#[test]
fn the_forecast_expects_no_end_of_foreign_partitions() {
    let mut scripted = empty_pod();
    scripted.tell(Event::begin(claim("1")));
    scripted.tell(Event::begin(claim("2")));
    scripted.lists(vec![seen("slurm_1", 0..16), seen("slurm_2", 32..48), seen("theirs", 48..49)]);
    let ends = [(1, 500), (2, 100)];
    assert_eq!(earliest(&mut scripted, 32, &ends), Some(501), "job 2 is in one half with theirs");
    assert_eq!(earliest(&mut scripted, 64, &ends), None);
    scripted.tell(unreachable());
    assert_eq!(earliest(&mut scripted, 1, &ends), None);
}

/// With `Mode=shared`, the listing is that of the one partition. Jobs have no place in it, and one from before the mode
/// has other IPUs.
#[test]
fn mode_shared_counts_the_ipus_of_all_jobs() {
    let mut scripted = Scripted::new();
    let domain_size = IpuCount::ONE;
    scripted.tell(Event::Models(vec![ModelFacts { domain_size, ..pod("pod64") }]));
    assert_eq!(scripted.lists(vec![]), "kick");
    scripted.play("begin 1 of 32 -> create 1\n adopt-running 2 of 16 ->");
    let there = || vec![seen("slurm_1", []), seen("slurm_2", [])];
    assert_eq!(scripted.lists(there()), "");
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 16 free, largest block 16");
    assert_eq!(asks(&scripted, "pod64", 16), "fits");
    assert_eq!(earliest(&mut scripted, 32, &[(1, 50), (2, 90)]), Some(51));
    scripted.play(
        "fini 2 held -> await-nodes 2\n nodes-done 2 -> remove 2\n gone 2 -> complete 2, kick, survey pod64",
    );
    assert_eq!(asks(&scripted, "pod64", 32), "fits");
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32");
}
