//! The life of single claims, event by event.

use vipu_types::PodId;

use crate::script::{Scripted, claim, id, play};

#[test]
fn a_job_that_runs() {
    play(&[
        (
            "from its nodes to its end",
            "begin 7       -> create 7
             started 7     ->
             up 7          -> launch 7, survey pod64
             launched 7    ->
             fini 7 held   -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> complete 7, kick, survey pod64",
        ),
        (
            "requeued, without waiting for its partition",
            "begin 7         -> create 7
             up 7            -> launch 7, survey pod64
             launched 7      ->
             fini 7          -> await-nodes 7
             begin 7r1       -> create 7r1
             nodes-done 7    -> remove 7
             up 7r1          -> launch 7r1, survey pod64
             gone 7          -> kick, survey pod64
             fini 7 held     -> await-nodes 7r1
             nodes-done 7r1  -> remove 7r1
             gone 7r1        -> complete 7r1, kick, survey pod64",
        ),
        (
            "it ends while its launch gate is being opened",
            "begin 7       -> create 7
             up 7          -> launch 7, survey pod64
             fini 7 held   -> await-nodes 7
             launched 7    ->
             nodes-done 7  -> remove 7
             gone 7        -> complete 7, kick, survey pod64",
        ),
        (
            "it is not there when its launch gate is to be opened",
            "begin 7       -> create 7
             up 7          -> launch 7, survey pod64
             vanished 7    -> await-nodes 7
             fini 7        ->
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn a_job_that_ends_before_its_partition_is_there() {
    for (answer, rest) in [("up", ""), ("failed", ""), ("cancelled", ""), ("up", "up 7 -> \n cancelled 7 ->")]
    {
        let held = format!(
            "begin 7       -> create 7
             started 7     ->
             fini 7 held   -> cancel 7
             {answer} 7    -> await-nodes 7
             {rest}
             nodes-done 7  -> remove 7
             gone 7        -> complete-both 7, kick, survey pod64"
        );
        let unheld = format!(
            "begin 7       -> create 7
             fini 7        -> drop 7, cancel 7
             started 7     ->
             nodes-done 7  ->
             gone 7        ->
             {answer} 7    -> await-nodes 7
             {rest}
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64"
        );
        play(&[(answer, &held), (answer, &unheld)]);
    }
}

#[test]
fn slurm_does_not_wait_for_ever() {
    play(&[
        (
            "its nodes were done, its partition does not go",
            "begin 7       -> create 7
             up 7          -> launch 7, survey pod64
             launched 7    ->
             overdue 7     ->
             fini 7 held   -> await-nodes 7
             nodes-done 7  -> remove 7
             overdue 7     -> complete 7
             overdue 7     ->
             gone 7        -> kick, survey pod64",
        ),
        (
            "the create does not answer",
            "begin 7       -> create 7
             fini 7 held   -> cancel 7
             overdue 7     -> complete-both 7
             cancelled 7   -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
        (
            "it waited for nothing",
            "begin 7       -> create 7
             fini 7        -> drop 7, cancel 7
             overdue 7     ->
             cancelled 7   -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn a_create_that_fails() {
    play(&[
        (
            "Slurm ends the run",
            "begin 7       -> create 7
             started 7     ->
             failed 7      -> fail 7 (no room), survey pod64
             up 7          ->
             fini 7 held   -> await-nodes 7
             vanished 7    ->
             nodes-done 7  -> remove 7
             gone 7        -> complete-both 7, kick, survey pod64",
        ),
        (
            "the run ended already",
            "begin 7       -> create 7
             failed 7      -> fail 7 (no room), survey pod64
             vanished 7    -> drop 7, await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
        (
            "its controller answers nobody",
            "begin 7       -> create 7
             away 7        ->
             failed 7      -> back 7 (no room), survey pod64
             fini 7 held   -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> complete-both 7, kick, survey pod64",
        ),
        (
            "given up without anybody asking",
            "begin 7       -> create 7
             cancelled 7   -> fail 7 (the partition's creation was given up), survey pod64
             fini 7        -> drop 7, await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn unknown_or_repeated_events_change_nothing() {
    play(&[(
        "all of it",
        "fini 7 held   ->
         started 7     ->
         up 7          ->
         failed 7      ->
         cancelled 7   ->
         launched 7    ->
         vanished 7    ->
         nodes-done 7  ->
         gone 7        ->
         begin 7       -> create 7
         launched 7    ->
         vanished 7    ->
         nodes-done 7  ->
         gone 7        ->
         up 7          -> launch 7, survey pod64
         up 7          ->
         started 7     ->
         failed 7      ->
         launched 7    ->
         vanished 7    ->
         fini 8 held   ->
         fini 7        -> await-nodes 7
         fini 7 held   ->
         gone 7        ->
         nodes-done 7  -> remove 7
         nodes-done 7  ->
         gone 7        -> kick, survey pod64
         gone 7        -> ",
    )]);
}

#[test]
fn a_run_that_begins_again_under_another_id() {
    play(&[
        (
            "nobody waits for the removal of the first partition",
            "begin 7         -> create 7
             up 7            -> launch 7, survey pod64
             vanished 7      -> await-nodes 7
             begin 7p1       -> create 7p1
             nodes-done 7    -> remove 7
             up 7            ->
             failed 7p1      -> fail 7p1 (no room), survey pod64
             fini 7 held     -> await-nodes 7p1
             gone 7          -> kick, survey pod64
             nodes-done 7p1  -> remove 7p1
             gone 7p1        -> complete-both 7p1, kick, survey pod64",
        ),
        (
            "the first run is not even ended",
            "begin 7         -> create 7
             begin 7p1       -> drop 7, cancel 7, create 7p1
             up 7            -> await-nodes 7
             nodes-done 7    -> remove 7
             gone 7          -> kick, survey pod64
             fini 7 held     -> cancel 7p1
             cancelled 7p1   -> await-nodes 7p1
             nodes-done 7p1  -> remove 7p1
             gone 7p1        -> complete-both 7p1, kick, survey pod64",
        ),
        (
            "a claim on a partition that another has is not taken",
            "begin 7         -> create 7
             up 7            -> launch 7, survey pod64
             fini 7          -> await-nodes 7
             begin 7         ->
             fini 7 held     ->
             nodes-done 7    -> remove 7
             gone 7          -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn each_partition_that_is_asked_for_has_an_id_of_its_own() {
    let mut scripted = Scripted::new();
    let next = |scripted: &Scripted, restart| {
        let PodId { model, .. } = id("pod64", "vipu");
        scripted.ledger.new_id(scripted.now, &model, 7, restart).unwrap().to_string()
    };
    assert_eq!((next(&scripted, 0), next(&scripted, 1)), ("slurm_7".into(), "slurm_7r1".into()));
    scripted.play("prepare 7 -> create 7");
    assert_eq!((next(&scripted, 0), next(&scripted, 1)), ("slurm_7p1".into(), "slurm_7r1".into()));
    scripted.play(
        "forgo 7         -> cancel 7
         begin 7p1       -> create 7p1
         fini 7          -> drop 7p1, cancel 7p1
         cancelled 7p1   -> await-nodes 7p1
         nodes-done 7p1  -> remove 7p1
         gone 7p1        -> kick, survey pod64",
    );
    // The id of a partition under removal or just gone is not given again: a remove may take effect late.
    assert_eq!(next(&scripted, 0), "slurm_7p2");
    scripted.play("cancelled 7 -> await-nodes 7\n nodes-done 7 -> remove 7\n gone 7 -> kick, survey pod64");
    assert_eq!(next(&scripted, 0), "slurm_7p2");
    scripted.now.0 += 3_600_000;
    assert_eq!(next(&scripted, 0), "slurm_7");
}

#[test]
fn an_id_of_an_earlier_slurmctld_is_not_given_again() {
    let mut scripted = Scripted::new();
    let PodId { model, .. } = id("pod64", "vipu");
    scripted.play("adopt-running 7 ->\n orphan 7p1 -> await-nodes 7p1");
    assert_eq!(scripted.ledger.new_id(scripted.now, &model, 7, 0), Some(claim("7p2").partition));
}

#[test]
fn a_job_of_an_earlier_slurmctld() {
    play(&[
        (
            "still configuring",
            "adopt-starting 7  -> create 7
             adopt-starting 7  ->
             up 7              -> launch 7, survey pod64
             launched 7        ->
             fini 7 held       -> await-nodes 7
             nodes-done 7      -> remove 7
             gone 7            -> complete 7, kick, survey pod64",
        ),
        (
            "running",
            "adopt-running 7   ->
             adopt-ending 7    ->
             fini 7 held       -> await-nodes 7
             nodes-done 7      -> remove 7
             gone 7            -> complete 7, kick, survey pod64",
        ),
        (
            "completing",
            "adopt-ending 7    -> await-nodes 7
             adopt-ending 7    ->
             fini 7 held       ->
             nodes-done 7      -> remove 7
             gone 7            -> complete 7, kick, survey pod64",
        ),
        (
            "over, and running again",
            "adopt-running 7r1 ->
             orphan 7r1        ->
             orphan 7          -> await-nodes 7
             orphan 7          ->
             nodes-done 7      -> remove 7
             gone 7            -> kick, survey pod64
             fini 7 held       -> await-nodes 7r1
             nodes-done 7r1    -> remove 7r1
             gone 7r1          -> complete 7r1, kick, survey pod64",
        ),
    ]);
}
