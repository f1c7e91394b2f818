//! Many partitions at once.

use std::time::Duration;

use ledger::{Action, DriverAction, Event};

use crate::harness::{Harness, claim, id, play};

const SECOND: Duration = Duration::from_secs(1);

/// Creates partitions 1 to `count` and says when the last came up.
async fn create_all(harness: &mut Harness, count: u32) -> Duration {
    for job in 1..=count {
        harness.act(Action::Driver(DriverAction::Create(claim(job))));
    }
    harness.all_up(1..=count).await
}

#[tokio::test(start_paused = true)]
async fn creates_take_the_time_of_one_unless_fewer_are_configured_at_once() {
    for (at_once, rounds) in [(64, 1), (8, 8)] {
        play(vec![], async |harness| {
            harness.settings.max_concurrent_creates = at_once;
            harness.configure();
            let took = create_all(harness, 64).await;
            let least = rounds * 2 * SECOND;
            assert!(took >= least && took < least + rounds * SECOND * 6 / 100, "{took:?}");
        })
        .await;
    }
}

/// The partitions that the controller was asked for, in this order.
fn asked_for(harness: &Harness) -> Vec<String> {
    let lines = harness.log.lines().into_iter();
    lines.filter_map(|line| line.strip_prefix("call create ").map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn who_began_first_is_asked_for_first() {
    play(vec![], async |harness| {
        harness.late_notes.borrow_mut().insert(id(1), SECOND / 2);
        harness.late_notes.borrow_mut().insert(id(2), SECOND / 4);
        let took = create_all(harness, 3).await;
        assert_eq!(asked_for(harness), ["slurm_1", "slurm_2", "slurm_3"]);
        assert!(took < 3 * SECOND, "{took:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_hangs_is_not_waited_for() {
    play(vec![], async |harness| {
        harness.late_notes.borrow_mut().insert(id(1), 100 * SECOND);
        let took = create_all(harness, 64).await;
        assert_eq!(asked_for(harness).last().unwrap(), "slurm_1");
        assert!(took < 103 * SECOND, "{took:?}");
        assert_eq!(asked_for(harness).len(), 64);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_that_hang_hold_up_nobody_else() {
    play(vec![], async |harness| {
        harness.settings.max_concurrent_creates = 1;
        harness.configure();
        harness.shelf.hanging.borrow_mut().insert("slurm_1".into());
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        assert_eq!(harness.event().await.1, Event::CreateStarted(id(1)));
        harness.up(2).await;
        harness.gone(2).await;
        assert!(harness.elapsed() < 6 * SECOND, "{:?}", harness.elapsed());
        let (when, event) = harness.event().await;
        assert_eq!(when, 300 * SECOND);
        let reason =
            "partition slurm_1 not made within 300 s: its IPUoF files are still being written to /ipuof";
        assert_eq!(event, Event::CreateFailed { partition: id(1), reason: reason.into() });
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn orders_for_one_partition_wait_for_each_other() {
    play(vec![], async |harness| {
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        assert_eq!(harness.answer().await.1, Event::Up(id(1)));
        assert_eq!(harness.event().await.1, Event::Gone(id(1)));
        let lines = harness.log.lines();
        let at = |line| lines.iter().position(|known| known == line);
        assert!(at("journal created slurm_1") < at("journal remove slurm_1"), "{lines:#?}");
        assert!(harness.pod.partitions().is_empty());
    })
    .await;
}
