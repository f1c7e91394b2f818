//! A model with several controllers.

use std::time::Duration;

use ledger::{Action, Claim, Event};

use crate::stage::{Stage, claim, id, play, pod_at};

fn claim_on(host: &str) -> Claim {
    Claim { controller: pod_at(host).controller, ..claim(1) }
}

async fn up(stage: &mut Stage, host: &str) {
    stage.act(Action::Create(claim_on(host)));
    assert_eq!(stage.answer().await.1, Event::Up(id(1)));
}

async fn gone(stage: &mut Stage, host: &str) {
    stage.act(Action::Remove(claim_on(host)));
    assert_eq!(stage.event().await.1, Event::Gone(id(1)));
    assert!(stage.at(host).partitions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_claim_goes_to_its_controller() {
    play(vec![], async |stage| {
        stage.configure_hosts(&["a", "b"]);
        up(stage, "b").await;
        assert_eq!((stage.at("a").partitions().len(), stage.at("b").partitions().len()), (0, 1));
        gone(stage, "b").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_stays_with_a_controller_that_left_the_list() {
    play(vec![], async |stage| {
        stage.configure_hosts(&["a", "b"]);
        up(stage, "b").await;
        stage.configure_hosts(&["a"]);
        gone(stage, "b").await;
        // A later slurmctld may find one being made there.
        up(stage, "b").await;
        gone(stage, "b").await;
        assert!(stage.elapsed() < Duration::from_secs(10), "{:?}", stage.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_holds_for_the_model_holds_for_a_controller_that_left_the_list() {
    play(vec![], async |stage| {
        stage.configure_hosts(&["a", "b"]);
        up(stage, "b").await;
        stage.settings.force_remove = true;
        stage.configure_hosts(&["a"]);
        gone(stage, "b").await;
        assert_eq!(stage.log.count("call remove slurm_1 by force"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_controller_is_surveyed_and_a_survey_of_one_that_left_asks_them_all() {
    play(vec![], async |stage| {
        stage.configure_hosts(&["a", "b"]);
        let mut pods = vec![];
        for _ in 0..2 {
            match stage.survey().await.1 {
                Event::Inventory { pod, .. } => pods.push(pod),
                other => panic!("{other:?}"),
            }
        }
        pods.sort();
        assert_eq!(pods, [pod_at("a"), pod_at("b")]);
        stage.pass(Duration::from_secs(1)).await;
        stage.act(Action::Survey(pod_at("c")));
        for _ in 0..2 {
            let (when, event) = stage.survey().await;
            assert_eq!(when, Duration::from_secs(1), "{event:?}");
        }
    })
    .await;
}
