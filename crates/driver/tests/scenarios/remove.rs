//! Removes are never given up.

use std::path::Path;
use std::time::Duration;

use driver::Stage;
use ledger::{Action, Claim, DriverAction, Event};
use vipu_types::IpuCount;

use crate::harness::{Harness, claim, id, play, pod, record};
use crate::pod::{Create, Remove};

const SECOND: Duration = Duration::from_secs(1);

/// Removes partition 1 and says how long it took.
async fn remove(harness: &mut Harness) -> Duration {
    let began = harness.elapsed();
    harness.gone(1).await;
    assert!(harness.pod.partitions().is_empty());
    harness.elapsed() - began
}

#[tokio::test(start_paused = true)]
async fn each_step_waits_for_the_one_before() {
    play(vec![], async |harness| {
        harness.up(1).await;
        let before = harness.log.lines().len();
        let took = remove(harness).await;
        assert!(took >= Duration::from_millis(1300) && took < Duration::from_millis(1320), "{took:?}");
        let expected = [
            "journal remove slurm_1",
            "call remove slurm_1",
            "call status slurm_1",
            "files of slurm_1 deleted from /ipuof",
            "journal gone slurm_1",
            "event gone slurm_1",
        ];
        assert_eq!(harness.log.lines()[before..], expected);
    })
    .await;
}

/// Its name and IPUs are not free as long as the controller shows it; but that may be for ever.
#[tokio::test(start_paused = true)]
async fn what_is_shown_as_removed_is_gone_within_a_minute() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.pod.removed_time.set(3600 * SECOND);
        let began = harness.elapsed();
        harness.gone(1).await;
        let took = harness.elapsed() - began;
        assert!(took >= 61 * SECOND && took < 63 * SECOND, "{took:?}");
        assert_eq!(harness.log.count("call remove slurm_1"), 1);
        // Nor do its IPUs count as used from then on.
        harness.pass(30 * SECOND).await;
        harness.act(Action::Driver(DriverAction::Survey(pod())));
        let listed = loop {
            match harness.survey().await {
                (when, Event::Inventory { partitions, .. }) if when >= harness.elapsed() => break partitions,
                _ => {}
            }
        };
        assert_eq!(listed, []);
    })
    .await;
}

/// Each needs all IPUs, and is asked for when the one before it is gone.
#[tokio::test(start_paused = true)]
async fn who_comes_next_is_not_refused() {
    play(vec![], async |harness| {
        harness.pod.ipus.set(64);
        for job in [1, 2, 3] {
            let whole = Claim { size: IpuCount::new(64).unwrap(), ..claim(job) };
            harness.act(Action::Driver(DriverAction::Create(whole.clone())));
            assert_eq!(harness.answer().await.1, Event::Up(id(job)));
            harness.act(Action::Driver(DriverAction::Remove(whole)));
            assert_eq!(harness.event().await.1, Event::Gone(id(job)));
            assert_eq!(harness.log.count(&format!("event no room {}", id(job))), 0);
        }
        // Making takes 2 s, removing 1 s, and 0.3 s each is shown as removed.
        assert!(harness.elapsed() < Duration::from_millis(3 * 3400), "{:?}", harness.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn it_is_tried_until_it_succeeds() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.pod.removes.borrow_mut().extend([Remove::Lost; 50]);
        let took = remove(harness).await;
        // At most 30 s apart, at least 15 s in the end.
        assert!(took > 600 * SECOND && took < 1500 * SECOND, "{took:?}");
        assert_eq!(harness.log.count("call remove slurm_1"), 51);
    })
    .await;
}

/// A later slurmctld must not give the id again while that call may still take effect.
#[tokio::test(start_paused = true)]
async fn after_a_remove_that_nobody_answered_the_id_stays_on_record_for_a_while() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.pod.removes.borrow_mut().push_back(Remove::Lost);
        remove(harness).await;
        harness.pass(590 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 0);
        harness.pass(20 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn force_is_used_when_configured_and_from_then_on() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.pod.removes.borrow_mut().extend([Remove::GoesWrong; 1000]);
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        harness.pass(300 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        harness.settings.force_remove = true;
        harness.configure();
        assert_eq!(harness.event().await.1, Event::Gone(id(1)));
        assert_eq!(harness.log.count("call remove slurm_1 by force"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_model_without_configuration_is_waited_for() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.unconfigure();
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        harness.pass(300 * SECOND).await;
        harness.configure();
        assert_eq!(harness.event().await.1, Event::Gone(id(1)));
        assert!(harness.elapsed() < 340 * SECOND, "{:?}", harness.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_are_deleted_where_they_were_written_whatever_others_get_now() {
    for now in [Some("/elsewhere"), None] {
        play(vec![], async |harness| {
            harness.up(1).await;
            harness.settings.ipuof_dir = now.map(|path| Path::new(path).into());
            harness.configure();
            remove(harness).await;
            assert_eq!(harness.log.count("files of slurm_1 deleted from /ipuof"), 1);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_without_files_is_made_and_removed_as_others_are() {
    play(vec![], async |harness| {
        harness.settings.ipuof_dir = None;
        harness.configure();
        harness.up(1).await;
        remove(harness).await;
        assert_eq!(harness.log.beginning("files"), [""; 0]);
        assert_eq!(harness.log.count("journal created slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_partition_of_an_earlier_slurmctld_is_removed_with_its_files() {
    play(vec![record(1, "/old", Stage::Created)], async |harness| {
        harness.pod.put(&id(1), Some(Duration::ZERO));
        remove(harness).await;
        assert_eq!(harness.log.count("files of slurm_1 deleted from /old"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_move_with_their_directory() {
    play(vec![record(1, "/old", Stage::Creating)], async |harness| {
        harness.up(1).await;
        assert_eq!(harness.log.count("files of slurm_1 deleted from /old"), 1);
        remove(harness).await;
        assert_eq!(harness.log.count("files of slurm_1 deleted from /ipuof"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_of_an_earlier_slurmctld_are_deleted_though_none_can_be_written_now() {
    play(vec![record(1, "/ipuof", Stage::Creating)], async |harness| {
        harness.shelf.refusal.replace(Some("cannot open directory /ipuof".into()));
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(SECOND).await;
        harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
        assert_eq!(harness.event().await.1, Event::CreateCancelled(id(1)));
        remove(harness).await;
        harness.shelf.refusal.take();
        harness.pass(60 * SECOND).await;
        assert_eq!(harness.log.count("files of slurm_1 deleted from /ipuof"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_any_more_is_gone() {
    play(vec![], async |harness| {
        assert_eq!(remove(harness).await, Duration::ZERO);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_same_name_can_be_used_again() {
    play(vec![], async |harness| {
        harness.pod.put(&id(1), None);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        assert!(matches!(harness.answer().await.1, Event::CreateFailed { .. }));
        harness.gone(1).await;
        // Its owner takes it away; what was learnt of the name is forgotten.
        harness.pod.creates.borrow_mut().push_back(Create::Good);
        driver::Controller::remove(&harness.pod, &id(1), true).await.unwrap();
        harness.pass(2 * SECOND).await;
        harness.up(1).await;
        remove(harness).await;
    })
    .await;
}
