//! A model with several controllers.

use std::ops::RangeInclusive;
use std::time::Duration;

use ledger::{Action, Claim, DriverAction, Event};

use crate::harness::{Harness, claim, id, play, pod_at};
use crate::pod::Create;

fn claim_on(host: &str) -> Claim {
    Claim { controller: pod_at(host).controller, ..claim(1) }
}

async fn up(harness: &mut Harness, host: &str) {
    harness.act(Action::Driver(DriverAction::Create(claim_on(host))));
    assert_eq!(harness.answer().await.1, Event::Up(id(1)));
}

async fn gone(harness: &mut Harness, host: &str) {
    harness.act(Action::Driver(DriverAction::Remove(claim_on(host))));
    assert_eq!(harness.event().await.1, Event::Gone(id(1)));
    assert!(harness.at(host).partitions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_goes_to_its_controller_and_stays_with_one_that_left_the_list() {
    play(vec![], async |harness| {
        harness.configure_hosts(&["a", "b"]);
        up(harness, "b").await;
        assert_eq!((harness.at("a").partitions().len(), harness.at("b").partitions().len()), (0, 1));
        harness.configure_hosts(&["a"]);
        gone(harness, "b").await;
        // A later slurmctld may find one being made there.
        up(harness, "b").await;
        gone(harness, "b").await;
        assert!(harness.elapsed() < Duration::from_secs(10), "{:?}", harness.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_holds_for_the_model_holds_for_a_controller_that_left_the_list() {
    play(vec![], async |harness| {
        harness.configure_hosts(&["a", "b"]);
        up(harness, "b").await;
        harness.settings.force_remove = true;
        harness.configure_hosts(&["a"]);
        gone(harness, "b").await;
        assert_eq!(harness.log.count("call remove slurm_1 by force"), 1);
    })
    .await;
}

/// Creates of these jobs on b, which refuses all: the first two are held for it.
async fn refused(harness: &mut Harness, jobs: RangeInclusive<u32>) {
    harness.at("b").creates.borrow_mut().extend([Create::Refused; 40]);
    for job in jobs {
        harness.act(Action::Driver(DriverAction::Create(Claim {
            controller: pod_at("b").controller,
            ..claim(job)
        })));
    }
    for _ in 0..2 {
        assert!(matches!(harness.answer().await.1, Event::CreateFailed { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn who_asked_a_controller_that_refuses_all_goes_back_when_another_works() {
    play(vec![], async |harness| {
        harness.configure_hosts(&["a", "b"]);
        refused(harness, 1..=3).await;
        let (when, event) = harness.answer().await;
        let reason = "controller pod:8090: Refused".to_owned();
        assert_eq!(event, Event::CreatePutOff { partition: id(3), reason });
        assert!((60..70).contains(&when.as_secs()), "{when:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_refused_is_known_when_it_has_left_the_list() {
    play(vec![], async |harness| {
        harness.configure_hosts(&["b"]);
        refused(harness, 1..=5).await;
        harness.pass(Duration::from_secs(300)).await;
        harness.configure_hosts(&["a"]);
        for _ in 3..=5 {
            let event = harness.answer().await.1;
            assert!(matches!(event, Event::CreatePutOff { .. }), "{event:?}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_controller_is_surveyed_and_a_survey_of_one_that_left_asks_them_all() {
    play(vec![], async |harness| {
        harness.configure_hosts(&["a", "b"]);
        let mut pods = vec![];
        for _ in 0..2 {
            match harness.survey().await.1 {
                Event::Inventory { pod, .. } => pods.push(pod),
                other => panic!("{other:?}"),
            }
        }
        pods.sort();
        assert_eq!(pods, [pod_at("a"), pod_at("b")]);
        harness.pass(Duration::from_secs(1)).await;
        harness.act(Action::Driver(DriverAction::Survey(pod_at("c"))));
        for _ in 0..2 {
            let (when, event) = harness.survey().await;
            assert_eq!(when, Duration::from_secs(1), "{event:?}");
        }
    })
    .await;
}
