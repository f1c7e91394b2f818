//! A create given up at each of its stages: one answer, and nothing that a remove could miss.

use std::time::Duration;

use ledger::{Action, DriverAction, Event};

use crate::harness::{Harness, claim, id, play};
use crate::pod::Create;

const SECOND: Duration = Duration::from_secs(1);

/// Cancels create 1 now and says when the answer came; then removes the partition and
/// checks that nothing is left of it and that no more answers came.
async fn cancel_and_remove(harness: &mut Harness) -> Duration {
    harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
    let (when, event) = harness.answer().await;
    assert_eq!(event, Event::CreateCancelled(id(1)));
    harness.gone(1).await;
    harness.pass(3600 * SECOND).await;
    assert!(harness.pod.partitions().is_empty(), "{:?}", harness.pod.partitions());
    assert!(harness.shelf.there.borrow().is_empty());
    let lines = harness.log.lines();
    assert!(lines.iter().rev().take(3).any(|line| line == "event gone slurm_1"), "{lines:#?}");
    when
}

#[tokio::test(start_paused = true)]
async fn while_waiting_for_a_slot() {
    play(vec![], async |harness| {
        harness.settings.max_concurrent_creates = 1;
        harness.configure();
        harness.pod.creates.borrow_mut().push_back(Create::Stuck);
        harness.act(Action::Driver(DriverAction::Create(claim(2))));
        assert_eq!(harness.event().await.1, Event::CreateStarted(id(2)));
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(SECOND).await;
        harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
        assert_eq!(harness.event().await, (SECOND, Event::CreateCancelled(id(1))));
        assert!(
            !harness.log.lines().iter().any(|line| line.starts_with("journal") && line.ends_with("slurm_1"))
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn before_it_began() {
    play(vec![], async |harness| {
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
        assert_eq!(harness.event().await, (Duration::ZERO, Event::CreateCancelled(id(1))));
        assert_eq!(harness.log.count("call create slurm_1"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_the_call_is_out() {
    play(vec![], async |harness| {
        harness.pod.call_time.set(10 * SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        // The look before it took ten.
        harness.pass(11 * SECOND).await;
        // Not before the call is over: the remove must find what it made.
        assert_eq!(cancel_and_remove(harness).await, 20 * SECOND);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_polling_and_between_two_tries() {
    for what in [Create::Stuck, Create::NoRoom] {
        play(vec![], async |harness| {
            harness.pod.creates.borrow_mut().extend([what; 100]);
            harness.act(Action::Driver(DriverAction::Create(claim(1))));
            harness.pass(60 * SECOND).await;
            assert_eq!(cancel_and_remove(harness).await, 60 * SECOND);
        })
        .await;
    }
}

/// The answer does not wait for the write, nor do the IPUs, but the deletion does: no file turns up after it.
#[tokio::test(start_paused = true)]
async fn while_files_are_written() {
    play(vec![], async |harness| {
        harness.shelf.write_time.set(30 * SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(10 * SECOND).await;
        assert_eq!(cancel_and_remove(harness).await, 10 * SECOND);
        assert_eq!(harness.log.count("files of slurm_1 deleted from /ipuof"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_it_is_done_already() {
    play(vec![], async |harness| {
        harness.up(1).await;
        harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
        harness.gone(1).await;
    })
    .await;
}
