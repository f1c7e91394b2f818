//! Surveys: when asked, now and then, and never two at once.

use std::time::Duration;

use driver::Failure;
use ledger::{Action, DriverAction, Event, Millis};

use crate::harness::{Harness, id, play, pod};

const SECOND: Duration = Duration::from_secs(1);

fn asked(event: &Event) -> u64 {
    match event {
        Event::Inventory { asked: Millis(asked), pod: of, ipus: 64, .. } if *of == pod() => *asked,
        other => panic!("{other:?}"),
    }
}

async fn ask(harness: &Harness) {
    harness.act(Action::Driver(DriverAction::Survey(pod())));
}

#[tokio::test(start_paused = true)]
async fn one_comes_at_once_and_then_every_half_minute() {
    play(vec![], async |harness| {
        for expected in [0, 30, 60, 90] {
            let (when, event) = harness.survey().await;
            assert_eq!(when, expected * SECOND);
            assert_eq!(asked(&event), u64::from(expected) * 1000);
        }
    })
    .await;
}

/// Jobs may wait for the IPUs of somebody else's partition.
#[tokio::test(start_paused = true)]
async fn what_is_shown_as_removed_is_looked_at_again_soon() {
    play(vec![], async |harness| {
        harness.pod.put_removed(&id(1), 2 * SECOND);
        for expected in [0, 5, 35] {
            assert_eq!(harness.survey().await.0, expected * SECOND);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_during_one_makes_one_more() {
    play(vec![], async |harness| {
        harness.pod.survey_time.set(4 * SECOND);
        harness.pass(SECOND).await;
        for _ in 0..100 {
            ask(harness).await;
        }
        let answers = [harness.survey().await, harness.survey().await, harness.survey().await];
        // The listing of the second was asked for after the asking, and the third is the periodic one.
        assert_eq!(answers.each_ref().map(|(when, _)| when.as_secs()), [4, 9, 43]);
        assert_eq!(answers.each_ref().map(|(_, event)| asked(event)), [0, 5000, 39000]);
    })
    .await;
}

/// As at each reading of configuration.
#[tokio::test(start_paused = true)]
async fn what_is_asked_for_before_the_first_is_answered_by_it() {
    play(vec![], async |harness| {
        ask(harness).await;
        for expected in [0, 30] {
            assert_eq!(harness.survey().await.0, expected * SECOND);
        }
    })
    .await;
}

/// As when job after job comes and goes.
#[tokio::test(start_paused = true)]
async fn one_a_second_is_enough() {
    play(vec![], async |harness| {
        for _ in 0..1000 {
            ask(harness).await;
            harness.pass(Duration::from_millis(10)).await;
        }
        let surveys = harness.log.count("call survey");
        assert!((10..=11).contains(&surveys), "{surveys}");
        // Who asks after a while is answered at once.
        harness.pass(2 * SECOND).await;
        let before = harness.elapsed();
        ask(harness).await;
        while harness.survey().await.0 < before {}
        assert_eq!(harness.elapsed(), before);
        // And so is a new configuration.
        harness.configure();
        assert_eq!(harness.survey().await.0, before);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_does_not_answer_is_asked_more_often() {
    play(vec![], async |harness| {
        harness.pod.surveys.borrow_mut().extend([Failure::Unclear; 2]);
        for expected in [0, 5] {
            let (when, event) = harness.survey().await;
            let reason = "controller pod:8090: Unclear".to_owned();
            assert_eq!((when, event), (expected * SECOND, Event::Unreachable { pod: pod(), reason }));
        }
        assert_eq!(harness.survey().await.0, 10 * SECOND);
        assert_eq!(harness.survey().await.0, 40 * SECOND);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_does_not_wait_for_the_old_controller() {
    play(vec![], async |harness| {
        harness.pod.survey_time.set(3600 * SECOND);
        harness.pass(SECOND).await;
        harness.pod.survey_time.set(Duration::ZERO);
        harness.configure();
        assert_eq!(harness.survey().await.0, SECOND);
        // The answer of the old one never comes.
        harness.unconfigure();
        harness.pass(2 * 3600 * SECOND).await;
        ask(harness).await;
        let reason = "model pod64 is not configured".to_owned();
        assert_eq!(harness.survey().await.1, Event::Unreachable { pod: pod(), reason });
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_that_falls_silent_is_not_asked_of_each_partition() {
    play(vec![], async |harness| {
        harness.survey().await;
        for job in [1, 2, 3] {
            harness.up(job).await;
        }
        ask(harness).await;
        let (before, _) = harness.survey().await;
        harness.pass(SECOND).await;
        harness.pod.silent_for.set(Some(50 * SECOND));
        ask(harness).await;
        let (when, event) = harness.survey().await;
        assert_eq!(when - before, 51 * SECOND);
        match event {
            Event::Inventory { partitions, .. } => {
                let there: Vec<_> = partitions.into_iter().map(|seen| seen.partition).collect();
                assert_eq!(there, [id(1), id(2), id(3)]);
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
}
