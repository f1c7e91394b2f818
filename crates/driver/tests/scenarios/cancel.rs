//! A create given up at each of its stages: one answer, and nothing that a remove could miss.

use std::time::Duration;

use ledger::{Action, Event};

use crate::pod::Create;
use crate::stage::{Stage, claim, id, play};

const SECOND: Duration = Duration::from_secs(1);

/// Cancels create 1 now and says when the answer came; then removes the partition and
/// checks that nothing is left of it and that no more answers came.
async fn cancel_and_remove(stage: &mut Stage) -> Duration {
    stage.act(Action::CancelCreate(id(1)));
    let (when, event) = stage.answer().await;
    assert_eq!(event, Event::CreateCancelled(id(1)));
    stage.act(Action::Remove(claim(1)));
    assert_eq!(stage.event().await.1, Event::Gone(id(1)));
    stage.pass(3600 * SECOND).await;
    assert!(stage.pod.partitions().is_empty(), "{:?}", stage.pod.partitions());
    assert!(stage.shelf.there.borrow().is_empty());
    let lines = stage.log.lines();
    assert!(lines.iter().rev().take(3).any(|line| line == "event gone slurm_1"), "{lines:#?}");
    when
}

#[tokio::test(start_paused = true)]
async fn while_waiting_for_a_slot() {
    play(vec![], async |stage| {
        stage.settings.max_concurrent_creates = 1;
        stage.configure();
        stage.pod.creates.borrow_mut().push_back(Create::Stuck);
        stage.act(Action::Create(claim(2)));
        assert_eq!(stage.event().await.1, Event::CreateStarted(id(2)));
        stage.act(Action::Create(claim(1)));
        stage.pass(SECOND).await;
        stage.act(Action::CancelCreate(id(1)));
        assert_eq!(stage.event().await, (SECOND, Event::CreateCancelled(id(1))));
        assert!(
            !stage.log.lines().iter().any(|line| line.starts_with("journal") && line.ends_with("slurm_1"))
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn before_it_began() {
    play(vec![], async |stage| {
        stage.act(Action::Create(claim(1)));
        stage.act(Action::CancelCreate(id(1)));
        assert_eq!(stage.event().await, (Duration::ZERO, Event::CreateCancelled(id(1))));
        assert_eq!(stage.log.count("call create slurm_1"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_the_call_is_out() {
    play(vec![], async |stage| {
        stage.pod.call_time.set(10 * SECOND);
        stage.act(Action::Create(claim(1)));
        // The look before it took ten.
        stage.pass(11 * SECOND).await;
        // Not before the call is over: the remove must find what it made.
        assert_eq!(cancel_and_remove(stage).await, 20 * SECOND);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_polling() {
    play(vec![], async |stage| {
        stage.pod.creates.borrow_mut().push_back(Create::Stuck);
        stage.act(Action::Create(claim(1)));
        stage.pass(100 * SECOND).await;
        assert_eq!(cancel_and_remove(stage).await, 100 * SECOND);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn between_two_tries() {
    play(vec![], async |stage| {
        stage.pod.creates.borrow_mut().extend([Create::NoRoom; 100]);
        stage.act(Action::Create(claim(1)));
        stage.pass(60 * SECOND).await;
        assert_eq!(cancel_and_remove(stage).await, 60 * SECOND);
    })
    .await;
}

/// The answer does not wait for the write, nor do the IPUs, but the deletion does: no file turns up after it.
#[tokio::test(start_paused = true)]
async fn while_files_are_written() {
    play(vec![], async |stage| {
        stage.shelf.write_time.set(30 * SECOND);
        stage.act(Action::Create(claim(1)));
        stage.pass(10 * SECOND).await;
        assert_eq!(cancel_and_remove(stage).await, 10 * SECOND);
        assert_eq!(stage.log.count("files of slurm_1 deleted from /ipuof"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_it_is_done_already() {
    play(vec![], async |stage| {
        stage.act(Action::Create(claim(1)));
        assert_eq!(stage.answer().await.1, Event::Up(id(1)));
        stage.act(Action::CancelCreate(id(1)));
        stage.act(Action::Remove(claim(1)));
        assert_eq!(stage.event().await.1, Event::Gone(id(1)));
    })
    .await;
}
