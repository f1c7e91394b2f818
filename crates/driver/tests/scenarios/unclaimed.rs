//! Partitions that no job has: late ones of ours, and those of which nobody knows.

use std::time::Duration;

use driver::{Controller, Stage};
use ledger::{Action, DriverAction, Event, SeenPartition};

use crate::harness::{Harness, claim, id, play, pod_at, record};
use crate::pod::{Create, Remove};

const SECOND: Duration = Duration::from_secs(1);

/// The ledger found partition 1 in a listing, and no claim that has it.
fn unclaimed(harness: &Harness) {
    unclaimed_on(harness, "vipu");
}

fn unclaimed_on(harness: &Harness, host: &str) {
    let seen = SeenPartition { partition: id(1), places: Vec::new(), fault: None, leaving: false };
    harness.act(Action::Driver(DriverAction::Unclaimed { pod: pod_at(host), seen }));
}

/// A create that takes effect so late is given up, and what it may have made is removed.
async fn give_up(harness: &mut Harness, late: Duration) {
    harness.pod.creates.borrow_mut().push_back(Create::Late(late));
    harness.act(Action::Driver(DriverAction::Create(claim(1))));
    assert_eq!(harness.event().await.1, Event::CreateStarted(id(1)));
    harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
    assert_eq!(harness.event().await.1, Event::CreateCancelled(id(1)));
    harness.gone(1).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_create_makes_late_is_removed() {
    play(vec![], async |harness| {
        give_up(harness, 300 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 0);
        harness.pass(310 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        harness.pod.removes.borrow_mut().extend([Remove::Lost, Remove::GoesWrong]);
        unclaimed(harness);
        harness.pass(60 * SECOND).await;
        assert!(harness.pod.partitions().is_empty());
        assert_eq!(harness.log.count("journal gone slurm_1"), 0);
        harness.pass(600 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 1);
    })
    .await;
}

/// Ours stays ours until it is removed, and no longer.
#[tokio::test(start_paused = true)]
async fn what_was_made_late_is_removed_however_long_that_takes() {
    play(vec![], async |harness| {
        give_up(harness, 300 * SECOND).await;
        harness.pass(310 * SECOND).await;
        harness.pod.removes.borrow_mut().extend([Remove::GoesWrong; 30]);
        unclaimed(harness);
        harness.pass(1800 * SECOND).await;
        assert!(harness.pod.partitions().is_empty());
        assert_eq!(harness.log.count("journal gone slurm_1"), 1);
        harness.pod.put(&id(1), None);
        unclaimed(harness);
        harness.pass(1800 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
    })
    .await;
}

/// As at each of many reconfigures.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_removed_is_tried_by_one() {
    play(vec![], async |harness| {
        harness.settings.remove_unknown = true;
        harness.configure();
        harness.pod.put(&id(1), Some(Duration::ZERO));
        harness.pod.removes.borrow_mut().extend([Remove::GoesWrong; 1000]);
        for _ in 0..100 {
            unclaimed(harness);
        }
        harness.pass(1000 * SECOND).await;
        let tries = harness.log.count("call remove slurm_1");
        assert!((10..100).contains(&tries), "{tries}");
    })
    .await;
}

/// What a create cut off by a crash makes is ours as well.
#[tokio::test(start_paused = true)]
async fn so_is_what_an_earlier_slurmctld_asked_for() {
    for stage in [Stage::Creating, Stage::GivenUp] {
        play(vec![record(1, "/old", stage)], async |harness| {
            harness.gone(1).await;
            harness.pass(100 * SECOND).await;
            harness.pod.put(&id(1), None);
            unclaimed(harness);
            harness.pass(10 * SECOND).await;
            assert!(harness.pod.partitions().is_empty());
        })
        .await;
    }
}

/// The call was lost, the partition was seen: nothing more can come of it.
#[tokio::test(start_paused = true)]
async fn an_effect_that_was_seen_is_not_waited_for() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::LostReply);
        harness.up(1).await;
        assert_eq!(harness.log.count("call create slurm_1"), 1);
        harness.gone(1).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 1);
    })
    .await;
}

/// Two calls, and what the first one makes comes when the partition of the second is long gone: whoever opens
/// the journal by then has to know of it.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_answered_is_on_record_though_another_was() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().push_back(Create::Late(300 * SECOND));
        harness.up(1).await;
        assert_eq!(harness.log.count("journal created slurm_1"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_of_that_name_on_another_controller_is_somebody_elses() {
    play(vec![], async |harness| {
        give_up(harness, 300 * SECOND).await;
        let other = harness.at("vipu2");
        harness.pod.network.borrow_mut().insert("vipu".into(), harness.pod.clone());
        harness.configure_hosts(&["vipu", "vipu2"]);
        other.put(&id(1), Some(Duration::ZERO));
        unclaimed_on(harness, "vipu2");
        harness.pass(10 * SECOND).await;
        assert_eq!(other.partitions(), ["slurm_1"]);
    })
    .await;
}

/// An earlier version gave one id to both jobs when a killed slurmctld handed out a job id twice.
#[tokio::test(start_paused = true)]
async fn what_an_earlier_job_has_is_removed_where_it_is_and_not_taken() {
    play(vec![record(1, "/old", Stage::Created)], async |harness| {
        let other = harness.at("vipu2");
        harness.pod.network.borrow_mut().insert("vipu".into(), harness.pod.clone());
        harness.configure_hosts(&["vipu", "vipu2"]);
        harness.pod.put(&id(1), Some(Duration::ZERO));
        let mut newer = claim(1);
        newer.run.start += 60;
        newer.controller = pod_at("vipu2").controller;
        harness.act(Action::Driver(DriverAction::Create(newer.clone())));
        assert!(matches!(harness.event().await.1, Event::CreatePutOff { .. }));
        harness.act(Action::Driver(DriverAction::Remove(newer)));
        assert_eq!(harness.event().await.1, Event::Gone(id(1)));
        assert!(harness.pod.partitions().is_empty() && other.partitions().is_empty());
        assert_eq!(harness.log.count("files of slurm_1 deleted from /old"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn under_an_id_that_may_come_late_nothing_is_made() {
    play(vec![], async |harness| {
        give_up(harness, 10 * SECOND).await;
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        assert!(matches!(harness.event().await.1, Event::CreatePutOff { .. }));
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_knows_is_left_alone_unless_the_site_says_otherwise() {
    play(vec![], async |harness| {
        harness.pod.put(&id(1), Some(Duration::ZERO));
        unclaimed(harness);
        // Nor does the end of a job that has it by name, but not by the journal, remove it.
        harness.gone(1).await;
        harness.pass(600 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        assert_eq!(harness.log.count("call remove slurm_1"), 0);
        harness.settings.remove_unknown = true;
        harness.configure();
        unclaimed(harness);
        harness.pass(10 * SECOND).await;
        assert!(harness.pod.partitions().is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn it_is_not_removed_under_a_job_that_has_just_got_the_id() {
    play(vec![], async |harness| {
        harness.settings.remove_unknown = true;
        harness.configure();
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        unclaimed(harness);
        assert_eq!(harness.answer().await.1, Event::Up(id(1)));
        harness.pass(10 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        assert_eq!(harness.pod.status(&id(1)).await, Ok(driver::PartitionState::Active));
    })
    .await;
}
