//! Partitions that no job has: late ones of ours, and those of which nobody knows.

use std::path::PathBuf;
use std::time::Duration;

use driver::{Controller, LiveRecord, Stage as Point};
use ledger::{Action, Event, SeenPartition};

use crate::pod::{Create, Remove};
use crate::stage::{Stage, claim, id, play, pod, pod_at};

const SECOND: Duration = Duration::from_secs(1);

/// The ledger found partition 1 in a listing, and no claim that has it.
fn unclaimed(stage: &Stage) {
    let seen = SeenPartition { partition: id(1), places: Vec::new(), fault: None, leaving: false };
    stage.act(Action::Unclaimed { pod: pod(), seen });
}

/// A create that takes effect so late is given up, and what it may have made is removed.
async fn give_up(stage: &mut Stage, late: Duration) {
    stage.pod.creates.borrow_mut().push_back(Create::Late(late));
    stage.act(Action::Create(claim(1)));
    assert_eq!(stage.event().await.1, Event::CreateStarted(id(1)));
    stage.act(Action::CancelCreate(id(1)));
    assert_eq!(stage.event().await.1, Event::CreateCancelled(id(1)));
    stage.act(Action::Remove(claim(1)));
    assert_eq!(stage.event().await.1, Event::Gone(id(1)));
}

#[tokio::test(start_paused = true)]
async fn what_a_create_makes_late_is_removed() {
    play(vec![], async |stage| {
        give_up(stage, 300 * SECOND).await;
        assert_eq!(stage.log.count("journal gone slurm_1"), 0);
        stage.pass(310 * SECOND).await;
        assert_eq!(stage.pod.partitions(), ["slurm_1"]);
        stage.pod.removes.borrow_mut().extend([Remove::Lost, Remove::GoesWrong]);
        unclaimed(stage);
        stage.pass(60 * SECOND).await;
        assert!(stage.pod.partitions().is_empty());
        assert_eq!(stage.log.count("journal gone slurm_1"), 0);
        stage.pass(600 * SECOND).await;
        assert_eq!(stage.log.count("journal gone slurm_1"), 1);
    })
    .await;
}

/// Ours stays ours until it is removed, and no longer.
#[tokio::test(start_paused = true)]
async fn what_was_made_late_is_removed_however_long_that_takes() {
    play(vec![], async |stage| {
        give_up(stage, 300 * SECOND).await;
        stage.pass(310 * SECOND).await;
        stage.pod.removes.borrow_mut().extend([Remove::GoesWrong; 30]);
        unclaimed(stage);
        stage.pass(1800 * SECOND).await;
        assert!(stage.pod.partitions().is_empty());
        assert_eq!(stage.log.count("journal gone slurm_1"), 1);
        stage.pod.put(&id(1), None);
        unclaimed(stage);
        stage.pass(1800 * SECOND).await;
        assert_eq!(stage.pod.partitions(), ["slurm_1"]);
    })
    .await;
}

/// As at each of many reconfigures.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_removed_is_tried_by_one() {
    play(vec![], async |stage| {
        stage.settings.remove_unknown = true;
        stage.configure();
        stage.pod.put(&id(1), Some(Duration::ZERO));
        stage.pod.removes.borrow_mut().extend([Remove::GoesWrong; 1000]);
        for _ in 0..100 {
            unclaimed(stage);
        }
        stage.pass(1000 * SECOND).await;
        let tries = stage.log.count("call remove slurm_1");
        assert!((10..100).contains(&tries), "{tries}");
    })
    .await;
}

/// What a create cut off by a crash makes is ours as well.
#[tokio::test(start_paused = true)]
async fn so_is_what_an_earlier_slurmctld_asked_for() {
    for stage in [Point::Creating, Point::GivenUp] {
        let record = LiveRecord {
            claim: claim(1),
            ipuof_dir: Some(PathBuf::from("/old")),
            stage,
            kept_until: None,
            launched: None,
        };
        play(vec![record], async |stage| {
            stage.act(Action::Remove(claim(1)));
            assert_eq!(stage.event().await.1, Event::Gone(id(1)));
            stage.pass(100 * SECOND).await;
            stage.pod.put(&id(1), None);
            unclaimed(stage);
            stage.pass(10 * SECOND).await;
            assert!(stage.pod.partitions().is_empty());
        })
        .await;
    }
}

/// The call was lost, the partition was seen: nothing more can come of it.
#[tokio::test(start_paused = true)]
async fn an_effect_that_was_seen_is_not_waited_for() {
    play(vec![], async |stage| {
        stage.pod.creates.borrow_mut().push_back(Create::LostReply);
        stage.act(Action::Create(claim(1)));
        assert_eq!(stage.answer().await.1, Event::Up(id(1)));
        stage.act(Action::Remove(claim(1)));
        assert_eq!(stage.event().await.1, Event::Gone(id(1)));
        assert_eq!(stage.log.count("journal gone slurm_1"), 1);
    })
    .await;
}

/// Two calls, and what the first one makes comes when the partition of the second is long gone: whoever opens the
/// journal by then has to know of it.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_answered_is_on_record_though_another_was() {
    play(vec![], async |stage| {
        stage.pod.creates.borrow_mut().push_back(Create::Late(300 * SECOND));
        stage.act(Action::Create(claim(1)));
        assert_eq!(stage.answer().await.1, Event::Up(id(1)));
        assert_eq!(stage.log.count("journal created slurm_1"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_of_that_name_on_another_controller_is_somebody_elses() {
    play(vec![], async |stage| {
        give_up(stage, 300 * SECOND).await;
        let other = stage.at("vipu2");
        stage.pod.network.borrow_mut().insert("vipu".into(), stage.pod.clone());
        stage.configure_hosts(&["vipu", "vipu2"]);
        other.put(&id(1), Some(Duration::ZERO));
        let seen = SeenPartition { partition: id(1), places: Vec::new(), fault: None, leaving: false };
        stage.act(Action::Unclaimed { pod: pod_at("vipu2"), seen });
        stage.pass(10 * SECOND).await;
        assert_eq!(other.partitions(), ["slurm_1"]);
    })
    .await;
}

/// An earlier version gave one id to both jobs when a killed slurmctld handed out a job id twice.
#[tokio::test(start_paused = true)]
async fn what_an_earlier_job_has_is_removed_where_it_is_and_not_taken() {
    let record = LiveRecord {
        claim: claim(1),
        ipuof_dir: Some(PathBuf::from("/old")),
        stage: Point::Created,
        kept_until: None,
        launched: None,
    };
    play(vec![record], async |stage| {
        let other = stage.at("vipu2");
        stage.pod.network.borrow_mut().insert("vipu".into(), stage.pod.clone());
        stage.configure_hosts(&["vipu", "vipu2"]);
        stage.pod.put(&id(1), Some(Duration::ZERO));
        let mut newer = claim(1);
        newer.run.start += 60;
        newer.controller = pod_at("vipu2").controller;
        stage.act(Action::Create(newer.clone()));
        assert!(matches!(stage.event().await.1, Event::CreatePutOff { .. }));
        stage.act(Action::Remove(newer));
        assert_eq!(stage.event().await.1, Event::Gone(id(1)));
        assert!(stage.pod.partitions().is_empty() && other.partitions().is_empty());
        assert_eq!(stage.log.count("files of slurm_1 deleted from /old"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn under_an_id_that_may_come_late_nothing_is_made() {
    play(vec![], async |stage| {
        give_up(stage, 10 * SECOND).await;
        stage.act(Action::Create(claim(1)));
        assert!(matches!(stage.event().await.1, Event::CreatePutOff { .. }));
        assert_eq!(stage.log.count("call create slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_knows_is_left_alone_unless_the_site_says_otherwise() {
    play(vec![], async |stage| {
        stage.pod.put(&id(1), Some(Duration::ZERO));
        unclaimed(stage);
        // Nor does the end of a job that has it by name, but not by the journal, remove it.
        stage.act(Action::Remove(claim(1)));
        assert_eq!(stage.event().await.1, Event::Gone(id(1)));
        stage.pass(600 * SECOND).await;
        assert_eq!(stage.pod.partitions(), ["slurm_1"]);
        assert_eq!(stage.log.count("call remove slurm_1"), 0);
        stage.settings.remove_unknown = true;
        stage.configure();
        unclaimed(stage);
        stage.pass(10 * SECOND).await;
        assert!(stage.pod.partitions().is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn it_is_not_removed_under_a_job_that_has_just_got_the_id() {
    play(vec![], async |stage| {
        stage.settings.remove_unknown = true;
        stage.configure();
        stage.act(Action::Create(claim(1)));
        unclaimed(stage);
        assert_eq!(stage.answer().await.1, Event::Up(id(1)));
        stage.pass(10 * SECOND).await;
        assert_eq!(stage.pod.partitions(), ["slurm_1"]);
        assert_eq!(stage.pod.status(&id(1)).await, Ok(driver::PartitionState::Active));
    })
    .await;
}
