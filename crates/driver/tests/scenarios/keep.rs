//! Partitions that stay after failed runs.

use ledger::{Action, DriverAction, Event, Seconds};

use crate::harness::{claim, id, play};

#[tokio::test(start_paused = true)]
async fn user_keep_is_on_record_before_anybody_hears_of_it() {
    play(vec![], async |harness| {
        harness.up(1).await;
        let before = harness.log.lines().len();
        harness.act(Action::Driver(DriverAction::Keep(claim(1), Seconds(100))));
        assert_eq!(harness.event().await.1, Event::KeepRecorded(id(1)));
        harness.gone(1).await;
        let lines = &harness.log.lines()[before..];
        let expected =
            ["journal kept slurm_1 until 100", "event keep recorded slurm_1", "journal remove slurm_1"];
        assert_eq!(lines[..3], expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn user_keep_of_what_is_not_ours_is_answered_and_no_more() {
    play(vec![], async |harness| {
        harness.act(Action::Driver(DriverAction::Keep(claim(1), Seconds(100))));
        assert_eq!(harness.event().await.1, Event::KeepRecorded(id(1)));
        assert_eq!(harness.log.count("journal kept slurm_1 until 100"), 0);
    })
    .await;
}
