//! Partitions of failed runs that stay for a while.

use ledger::SeenPartition;

use crate::script::{asks, earliest, empty_pod, id, play, seen};

#[test]
fn user_keep_is_a_life_of_its_own() {
    play(&[
        (
            "until its time is over; nobody is COMPLETING for that",
            "begin 7           -> create 7
             up 7              -> launch 7, survey pod64
             launched 7        ->
             fails 7 held      -> keep 7 until 100, end-keep 7
             recorded 7        -> complete 7
             recorded 7        ->
             fini 7 held       ->
             overdue 7         ->
             keep-over 7       -> await-nodes 7
             nodes-done 7      -> remove 7
             gone 7            -> kick, survey pod64",
        ),
        (
            "over before it is on record",
            "begin 7           -> create 7
             up 7              -> launch 7, survey pod64
             launched 7        ->
             fails 7 held      -> keep 7 until 100, end-keep 7
             keep-over 7       -> await-nodes 7
             recorded 7        ->
             nodes-done 7      -> remove 7
             gone 7            -> complete 7, kick, survey pod64",
        ),
        (
            "a journal that hangs holds no job for ever",
            "begin 7           -> create 7
             up 7              -> launch 7, survey pod64
             launched 7        ->
             fails 7 held      -> keep 7 until 100, end-keep 7
             overdue 7         -> complete 7
             recorded 7        ->
             keep-over 7       -> await-nodes 7
             nodes-done 7      -> remove 7
             gone 7            -> kick, survey pod64",
        ),
        (
            "requeued meanwhile: the next run does not wait for it",
            "begin 7           -> create 7
             up 7              -> launch 7, survey pod64
             launched 7        ->
             fails 7           -> keep 7 until 100, end-keep 7
             recorded 7        ->
             begin 7r1         -> await-nodes 7, create 7r1
             nodes-done 7      -> remove 7
             gone 7            -> kick, survey pod64
             up 7r1            -> launch 7r1, survey pod64
             launched 7r1      ->
             fini 7r1          -> await-nodes 7r1
             nodes-done 7r1    -> remove 7r1
             gone 7r1          -> kick, survey pod64",
        ),
        (
            "another job of the same id does",
            "adopt-kept 7      -> keep 7 until 100, end-keep 7
             recorded 7        ->
             prepare 7p1       -> await-nodes 7, create 7p1
             nodes-done 7      -> remove 7
             gone 7            -> kick, survey pod64
             forgo 7           -> cancel 7p1
             cancelled 7p1     -> await-nodes 7p1
             nodes-done 7p1    -> remove 7p1
             gone 7p1          -> kick, survey pod64",
        ),
        (
            "who never had a partition to look at leaves none",
            "begin 7           -> create 7
             fails 7 held      -> cancel 7
             cancelled 7       -> await-nodes 7
             nodes-done 7      -> remove 7
             gone 7            -> complete-both 7, kick, survey pod64
             fails 8           ->",
        ),
    ]);
}

#[test]
fn user_keep_counts_as_used_and_is_shown() {
    let mut pod = empty_pod();
    pod.play(
        "adopt-running 7   ->
         fails 7           -> keep 7 until 100, end-keep 7
         recorded 7        ->",
    );
    pod.lists(vec![seen("slurm_7", 0..16)]);
    assert_eq!(
        asks(&pod, "pod64", 64),
        "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32; 16 kept of failed jobs"
    );
    assert_eq!(pod.ledger.ipus_of_others(&id("pod64", "vipu").model, "ipu", 8, 0), 16);
    assert_eq!(pod.ledger.live_claim(7), None);
    // The end of the kept partition is known, although its job has no end.
    assert_eq!(earliest(&mut pod, 64, &[]), Some(101));
}

#[test]
fn user_keep_ends_when_the_partition_is_removed_on_its_controller() {
    let mut pod = empty_pod();
    pod.play(
        "adopt-kept 7      -> keep 7 until 100, end-keep 7
         recorded 7        ->",
    );
    let broken = SeenPartition { fault: Some("an IPU is in error".into()), ..seen("slurm_7", 0..16) };
    assert_eq!(pod.lists(vec![broken]), "", "it is there to be looked at, broken or not");
    assert_eq!(pod.lists(vec![]), "");
    pod.now.0 += 30_000;
    assert_eq!(pod.lists(vec![]), "await-nodes 7");
    pod.play(
        "nodes-done 7      -> remove 7
         gone 7            -> kick, survey pod64",
    );
    assert_eq!(asks(&pod, "pod64", 64), "fits");
}
