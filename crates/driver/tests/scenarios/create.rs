//! Creates, and what can come between.

use std::time::Duration;

use driver::{Failure, Stage};
use ledger::{Action, Claim, DriverAction, Event};
use vipu_types::JobRun;

use crate::harness::{Harness, claim, id, play, record};
use crate::pod::{Create, Remove};

const SECOND: Duration = Duration::from_secs(1);

async fn create(harness: &mut Harness) -> (Duration, Event) {
    harness.act(Action::Driver(DriverAction::Create(claim(1))));
    harness.answer().await
}

fn failed(event: Event) -> String {
    match event {
        Event::CreateFailed { partition, reason } if partition == id(1) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_step_waits_for_the_one_before() {
    play(vec![], async |harness| {
        let (when, event) = create(harness).await;
        assert_eq!(event, Event::Up(id(1)));
        assert!(when >= 2 * SECOND && when < Duration::from_millis(2060), "{when:?}");
        let expected = [
            "call status slurm_1",
            "journal create slurm_1",
            "event started slurm_1",
            "call create slurm_1",
            "call status slurm_1",
            "call config slurm_1",
            "files written to /ipuof for 1001: config of slurm_1",
            "journal created slurm_1",
            "event up slurm_1",
        ];
        assert_eq!(harness.log.lines(), expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_arrived_is_made_again() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::Lost, Create::Lost]);
        harness.up(1).await;
        assert_eq!(harness.log.count("call create slurm_1"), 3);
        let calls = &harness.log.beginning("call")[1..5];
        assert_eq!(
            calls,
            ["call create slurm_1", "call status slurm_1", "call create slurm_1", "call status slurm_1"]
        );
    })
    .await;
}

/// Nothing was made, so nothing is looked for; whoever mends the access key in time saves the job.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_who_we_are_is_not_the_jobs_fault() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::Stranger, Create::Stranger]);
        harness.up(1).await;
        assert_eq!(harness.log.beginning("call")[1..4], ["call create slurm_1"; 3]);
    })
    .await;
}

/// The second call meets what the first one made after all.
#[tokio::test(start_paused = true)]
async fn an_existing_partition_of_ours_is_adopted() {
    play(vec![], async |harness| {
        harness.pod.call_time.set(SECOND);
        // It takes effect 2.7 s after the beginning, between the look for it, which ends at 2.25 s at
        // the latest, and the second call, which ends a second after that.
        harness.pod.creates.borrow_mut().push_back(Create::Late(Duration::from_millis(1700)));
        harness.up(1).await;
        assert_eq!(harness.log.count("call create slurm_1"), 2);
        assert_eq!(harness.log.count("call remove slurm_1"), 0);
    })
    .await;
}

/// Slurm changes the start of a run while nodes are powered up, and saves a bound run's before the journal
/// has it.
#[tokio::test(start_paused = true)]
async fn what_the_journal_knows_is_found_by_its_id_whatever_its_run_began() {
    for start in [1_700_000_000, 1_600_000_000, -1_600_000_000] {
        let mut earlier = record(1, "/old", Stage::Creating);
        earlier.claim.run.start = start;
        play(vec![earlier], async |harness| {
            harness.pod.put(&id(1), Some(SECOND));
            harness.up(1).await;
            assert_eq!(
                harness.log.count("call create slurm_1") + harness.log.count("call remove slurm_1"),
                0
            );
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_of_others_is_neither_taken_nor_removed() {
    play(vec![], async |harness| {
        harness.pod.put(&id(1), Some(Duration::ZERO));
        let reason = failed(create(harness).await.1);
        let expected = "controller pod:8090: partition slurm_1: there is one of this id: this cluster's journal does not have it; \
                        the administrator removes it, or sets another PartitionPrefix";
        assert_eq!(reason, expected);
        // It was looked for first: with an intent in the journal and a lost reply it would look like ours.
        assert_eq!(harness.log.count("call create slurm_1"), 0);
        harness.gone(1).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        // Nor would a later slurmctld take it for ours.
        let notes = harness.log.beginning("journal");
        assert_eq!(notes, [""; 0]);
    })
    .await;
}

/// Somebody has just had it removed: for a while its name is taken.
#[tokio::test(start_paused = true)]
async fn a_partition_of_others_on_its_way_out_is_waited_for() {
    play(vec![], async |harness| {
        harness.pod.put(&id(1), Some(Duration::ZERO));
        harness.pod.take_away(&id(1));
        let (when, event) = create(harness).await;
        assert_eq!(event, Event::Up(id(1)));
        assert!(when < Duration::from_millis(3400), "{when:?}");
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

/// A partition of this name came only after we had looked for one.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_for_a_moment_is_asked_for_again() {
    play(vec![], async |harness| {
        harness.pod.call_time.set(SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(Duration::from_millis(1500)).await;
        harness.pod.put(&id(1), Some(Duration::ZERO));
        harness.pod.take_away(&id(1));
        assert_eq!(harness.answer().await.1, Event::Up(id(1)));
        assert_eq!(harness.log.count("call create slurm_1"), 2);
    })
    .await;
}

/// Nothing can come of it: no journal entry stays, and nobody watches.
#[tokio::test(start_paused = true)]
async fn what_was_never_sent_leaves_nothing() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::NotSent; 100]);
        assert!(failed(create(harness).await.1).contains("NotSent"));
        harness.gone(1).await;
        let notes = harness.log.beginning("journal");
        assert_eq!(notes, ["journal create slurm_1", "journal gone slurm_1"]);
        assert_eq!(harness.log.count("call remove slurm_1"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::Refused);
        let (when, event) = create(harness).await;
        assert_eq!(failed(event), "controller pod:8090: Refused");
        assert_eq!(when, Duration::ZERO);
        // And leaves nothing to remove, whoever has a partition of that name.
        harness.gone(1).await;
        let expected = [
            "call status slurm_1",
            "journal create slurm_1",
            "event started slurm_1",
            "call create slurm_1",
            "journal gone slurm_1",
            "event failed slurm_1: controller pod:8090: Refused",
            "event gone slurm_1",
        ];
        assert_eq!(harness.log.lines(), expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_room_waits_for_room_and_has_the_controller_surveyed() {
    play(vec![], async |harness| {
        harness.survey().await;
        harness.pass(SECOND).await;
        harness.pod.creates.borrow_mut().extend([Create::NoRoom; 3]);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        let (when, _) = harness.survey().await;
        assert_eq!(when, SECOND);
        assert_eq!(harness.event().await.1, Event::Up(id(1)));
        assert_eq!(harness.log.count("event no room slurm_1"), 3);
        // After a clean refusal there is nothing to look for.
        let expected = ["call create slurm_1"; 4];
        let calls = &harness.log.beginning("call")[1..5];
        assert_eq!(calls, expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_create_of_fifteen_minutes_is_waited_for() {
    play(vec![], async |harness| {
        harness.settings.create_timeout = 1200 * SECOND;
        harness.configure();
        harness.pod.make_time.set(900 * SECOND);
        let (when, event) = create(harness).await;
        assert_eq!(event, Event::Up(id(1)));
        assert!(when >= 900 * SECOND && when < 905 * SECOND, "{when:?}");
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stuck_create_ends_at_the_timeout_with_the_last_words_and_sooner_for_a_job_that_waits() {
    let waiting = Claim { run: JobRun::waiting(1, 0, 1_700_000_000), ..claim(1) };
    for (claim, limit) in [(claim(1), 300), (waiting, 150)] {
        play(vec![], async |harness| {
            harness.pod.creates.borrow_mut().push_back(Create::Stuck);
            harness.act(Action::Driver(DriverAction::Create(claim)));
            let (when, event) = harness.answer().await;
            assert_eq!(when, limit * SECOND);
            let reason = "the controller is still making it";
            assert_eq!(failed(event), format!("partition slurm_1 not made within {limit} s: {reason}"));
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_before_is_not_forgotten_when_time_is_over() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::GoesWrong, Create::Stuck]);
        let (_, event) = create(harness).await;
        let reason = failed(event);
        assert!(
            reason.contains("still making it; before: try 1: ") && reason.contains("it went into error"),
            "{reason}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_create_that_was_found_says_nothing_of_how_long_creates_take() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::LostReply);
        create(harness).await;
        harness.pod.make_time.set(12 * SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(2))));
        harness.answer().await;
        let told = harness.told.borrow();
        assert!(told.last().is_some_and(|line| line.ends_with(", 10 s")), "{told:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_room_for_ever_ends_at_the_timeout_with_the_controllers_words() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::NoRoom; 1000]);
        let (when, event) = create(harness).await;
        assert_eq!(when, 300 * SECOND);
        assert_eq!(failed(event), "partition slurm_1 not made within 300 s: controller pod:8090: NoRoom");
        // Tries are 5 s to 10 s apart in the end, and were closer in the beginning.
        let tries = harness.log.count("call create slurm_1");
        assert!((30..70).contains(&tries), "{tries}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_partition_in_error_is_cleared_away_and_made_again() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::GoesWrong);
        harness.up(1).await;
        let calls = harness.log.beginning("call");
        let expected = [
            "call status slurm_1",
            "call create slurm_1",
            "call status slurm_1",
            "call remove slurm_1",
            "call status slurm_1",
            "call create slurm_1",
            "call status slurm_1",
            "call config slurm_1",
        ];
        // The look before the remove repeats the last poll in the log.
        assert_eq!(calls, expected);
    })
    .await;
}

/// That call may yet remove what is made next under this id.
#[tokio::test(start_paused = true)]
async fn after_a_remove_that_nobody_answered_nothing_more_is_made_under_the_id() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::GoesWrong);
        harness.pod.removes.borrow_mut().push_back(Remove::Lost);
        let (when, event) = create(harness).await;
        let Event::CreatePutOff { partition, reason } = event else { panic!("{event:?}") };
        assert!(partition == id(1) && reason.contains("may still take effect"), "{reason}");
        assert!(when < 10 * SECOND, "{when:?}");
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

/// An earlier slurmctld may have sent a remove call that nobody answered.
#[tokio::test(start_paused = true)]
async fn what_was_to_be_removed_is_not_taken_back_into_use() {
    for stage in [Stage::Removing, Stage::GivenUp] {
        play(vec![record(1, "/old", stage)], async |harness| {
            harness.pod.put(&id(1), Some(Duration::ZERO));
            assert!(matches!(create(harness).await.1, Event::CreatePutOff { .. }));
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_that_does_not_get_its_turn_ends_in_time_too() {
    play(vec![], async |harness| {
        harness.settings.max_concurrent_creates = 1;
        harness.configure();
        harness.pod.creates.borrow_mut().push_back(Create::Stuck);
        harness.act(Action::Driver(DriverAction::Create(claim(2))));
        assert_eq!(harness.event().await.1, Event::CreateStarted(id(2)));
        let has_no_nodes = Claim { run: JobRun::waiting(1, 0, 1_700_000_000), ..claim(1) };
        harness.act(Action::Driver(DriverAction::Create(has_no_nodes)));
        let (when, event) = harness.event().await;
        let reason = "partition slurm_1 could not be asked for within 150 s: other calls are under way";
        assert_eq!(event, Event::CreatePutOff { partition: id(1), reason: reason.into() });
        assert_eq!(when, 150 * SECOND);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_does_not_come_is_asked_for_again() {
    play(vec![], async |harness| {
        harness.pod.configs.borrow_mut().extend([Failure::Unclear, Failure::Unclear]);
        harness.up(1).await;
        assert_eq!(harness.log.count("call config slurm_1"), 3);
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_configured_is_named() {
    play(vec![], async |harness| {
        harness.unconfigure();
        assert_eq!(failed(create(harness).await.1), "model pod64 is not configured");
        // Its removal must not wait until there is a controller again.
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        assert_eq!(harness.event().await, (Duration::ZERO, Event::Gone(id(1))));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_at_a_terminal_is_told_and_told_again_when_it_is_late() {
    play(vec![], async |harness| {
        create(harness).await;
        let line = "job 1: vipu: creating partition slurm_1: 1 IPU on pod64";
        assert_eq!(*harness.told.borrow(), [line]);
        harness.pod.make_time.set(12 * SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(2))));
        harness.answer().await;
        let line = "vipu: creating partition slurm_2: 1 IPU on pod64";
        let lines = [
            format!("job 2: {line}"),
            format!("job 2: {line}, 5 s, usually 2.0 s"),
            format!("job 2, in squeue: {line}, 10 s, usually 2.0 s"),
        ];
        assert_eq!(harness.told.borrow()[1..], lines);
    })
    .await;
}
