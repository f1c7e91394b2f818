//! The life of single claims, event by event.

use crate::script::{Scripted, play};

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
            "Slurm does not wait for its end",
            "begin 7       -> create 7
             up 7          -> launch 7, survey pod64
             launched 7    ->
             fini 7        -> await-nodes 7
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
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
fn what_is_unknown_or_repeated_changes_nothing() {
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
fn a_job_that_runs_again() {
    play(&[
        (
            "after a requeue that did not wait for its partition",
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
            "although nobody told the end of the first run",
            "begin 7         -> create 7
             begin 7r1       -> drop 7, cancel 7, create 7r1
             cancelled 7     -> await-nodes 7
             nodes-done 7    -> remove 7
             gone 7          -> kick, survey pod64
             up 7r1          -> launch 7r1, survey pod64
             fini 7          -> await-nodes 7r1
             nodes-done 7r1  -> remove 7r1
             gone 7r1        -> kick, survey pod64",
        ),
    ]);
}

#[test]
fn a_partition_id_that_is_still_in_use() {
    let release = "nodes-done 7  -> remove 7
                   gone 7        -> complete-both 7, kick, survey pod64";
    play(&[
        (
            "the create waits until the earlier partition is gone",
            &format!(
                "begin 7       -> create 7
                 up 7          -> launch 7, survey pod64
                 vanished 7    -> await-nodes 7
                 begin 7       ->
                 nodes-done 7  -> remove 7
                 up 7          ->
                 gone 7        -> kick, survey pod64, create 7
                 failed 7      -> fail 7 (no room), survey pod64
                 fini 7 held   -> await-nodes 7
                 {release}"
            ),
        ),
        (
            "the earlier run is not even ended",
            &format!(
                "begin 7       -> create 7
                 begin 7       -> drop 7, cancel 7
                 up 7          -> await-nodes 7
                 nodes-done 7  -> remove 7
                 gone 7        -> kick, survey pod64, create 7
                 fini 7 held   -> cancel 7
                 cancelled 7   -> await-nodes 7
                 {release}"
            ),
        ),
        (
            "the later run ends while it waits",
            "begin 7       -> create 7
             up 7          -> launch 7, survey pod64
             fini 7        -> await-nodes 7
             begin 7       ->
             fini 7 held   -> complete-both 7, kick
             nodes-done 7  -> remove 7
             gone 7        -> kick, survey pod64",
        ),
        (
            "a third run takes the place of the one that waits",
            &format!(
                "begin 7       -> create 7
                 up 7          -> launch 7, survey pod64
                 fini 7        -> await-nodes 7
                 begin 7       ->
                 begin 7       -> drop 7, kick
                 nodes-done 7  -> remove 7
                 gone 7        -> kick, survey pod64, create 7
                 fini 7 held   -> cancel 7
                 cancelled 7   -> await-nodes 7
                 {release}"
            ),
        ),
    ]);
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

#[test]
fn the_run_that_a_fini_would_end_can_be_asked_for() {
    let mut scripted = Scripted::new();
    let live = |scripted: &Scripted| scripted.ledger.live_claim(7).map(|claim| claim.partition.to_string());
    assert_eq!(live(&scripted), None);
    scripted.play("begin 7 -> create 7");
    assert_eq!(live(&scripted).as_deref(), Some("slurm_7"));
    scripted.play("fini 7 -> drop 7, cancel 7");
    assert_eq!(live(&scripted), None);
    scripted.play("begin 7r1 -> create 7r1");
    assert_eq!(live(&scripted).as_deref(), Some("slurm_7r1"));
    assert!(scripted.ledger.holder(&crate::script::claim("7").partition).is_some());
    assert!(scripted.ledger.holder(&crate::script::claim("7r2").partition).is_none());
}
