//! What all jobs need is in trouble: no job pays for it, and all go on by themselves.

use std::path::Path;
use std::time::Duration;

use driver::JournalError;
use ledger::{Action, Claim, DriverAction, Event};
use vipu_types::JobRun;

use crate::harness::{Harness, claim, id, play};
use crate::pod::Create;

const SECOND: Duration = Duration::from_secs(1);
const READ_ONLY: &str = "cannot write to /ipuof: Read-only file system";

fn read_only(harness: &Harness, is: bool) {
    harness.shelf.refusal.replace(is.then(|| READ_ONLY.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_away_for_hours_costs_no_job_more_than_a_wait() {
    play(vec![], async |harness| {
        read_only(harness, true);
        for job in 1..=200 {
            harness.act(Action::Driver(DriverAction::Create(claim(job))));
        }
        harness.pass(3 * 3600 * SECOND).await;
        // It was known before anything was asked for.
        assert_eq!(harness.pod.partitions(), [""; 0]);
        assert_eq!(harness.log.count(&format!("event trouble: IpuofDir: {READ_ONLY}")), 1);
        let told = harness.told.borrow().clone();
        let aloud = told.iter().filter(|line| line.starts_with("job 7: ")).cloned().collect::<Vec<_>>();
        let line = "job 7: vipu: creating partition slurm_7: 1 IPU on pod64";
        assert_eq!(aloud, [line.to_owned(), format!("{line}, waiting: IpuofDir: {READ_ONLY}")]);
        read_only(harness, false);
        let over = harness.elapsed();
        let last = harness.all_up(1..=200).await;
        assert!(last - over < 20 * SECOND, "{:?}", last - over);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_never_comes_back_gives_the_nodes_back_after_half_a_day() {
    play(vec![], async |harness| {
        read_only(harness, true);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        let (when, event) = harness.answer().await;
        let reason = format!("no partition for 12 h: IpuofDir: {READ_ONLY}");
        assert_eq!(event, Event::CreatePutOff { partition: id(1), reason });
        assert_eq!(when.as_secs(), 12 * 3600 + 300);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_meets_it_with_a_partition_keeps_that_and_has_its_files_later() {
    play(vec![], async |harness| {
        harness.settings.max_concurrent_creates = 2;
        harness.configure();
        harness.survey().await;
        read_only(harness, true);
        for job in 1..=12 {
            harness.act(Action::Driver(DriverAction::Create(claim(job))));
        }
        harness.pass(1000 * SECOND).await;
        // Those who got past before anybody had met it.
        assert!(harness.pod.partitions().len() <= 4, "{:?}", harness.pod.partitions());
        // A partition for a job that waits in line is no other matter.
        let waiting = Claim { run: JobRun::waiting(13, 0, 1_700_000_000), ..claim(13) };
        harness.act(Action::Driver(DriverAction::Create(waiting)));
        harness.pass(1000 * SECOND).await;
        read_only(harness, false);
        harness.all_up(1..=13).await;
        assert_eq!(harness.log.count("call create slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_hangs_is_in_trouble_too() {
    play(vec![], async |harness| {
        harness.survey().await;
        harness.shelf.hanging.borrow_mut().insert("slurm_1".into());
        harness.shelf.probe_time.set(4000 * SECOND);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        let (when, event) = harness.answer().await;
        assert_eq!(event, Event::Up(id(1)));
        assert!(when > 3600 * SECOND, "{when:?}");
        let words = "event trouble: IpuofDir: /ipuof does not answer (is its file server up?)";
        assert_eq!(harness.log.count(words), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_alone_cannot_be_written_is_tried_as_often_as_a_create() {
    play(vec![], async |harness| {
        harness.settings.max_retries = 2;
        harness.configure();
        harness.shelf.refuses_one.replace(Some((id(1), "a directory is in the way".into())));
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        let (_, event) = harness.answer().await;
        let reason = "partition slurm_1 failed 3 times: no IPUoF file: a directory is in the way";
        assert_eq!(event, Event::CreateFailed { partition: id(1), reason: reason.into() });
        // What was not written is not deleted: the directory may never come back.
        harness.gone(1).await;
        assert!(harness.pod.partitions().is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_cannot_be_written_costs_no_job_more_than_a_wait() {
    play(vec![], async |harness| {
        harness.survey().await;
        let full =
            JournalError::new(Path::new("/state/vipu_journal"), "write it", &"No space left on device");
        harness.journal_trouble.replace(Some(full));
        for job in 1..=12 {
            harness.act(Action::Driver(DriverAction::Create(claim(job))));
        }
        harness.pass(3600 * SECOND).await;
        assert_eq!(harness.pod.partitions(), [""; 0]);
        let lines = harness.log.lines();
        let told: Vec<_> = lines.iter().filter(|line| line.starts_with("event trouble")).collect();
        let [told] = told[..] else { panic!("{told:?}") };
        assert!(told.contains("/state/vipu_journal: cannot write it: No space left on device"), "{told}");
        harness.journal_trouble.take();
        harness.all_up(1..=12).await;
    })
    .await;
}

/// Who waits need not be told that vipu.conf is mended.
#[tokio::test(start_paused = true)]
async fn another_configuration_ends_it_as_well() {
    play(vec![], async |harness| {
        read_only(harness, true);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(1000 * SECOND).await;
        read_only(harness, false);
        harness.shelf.probe_time.set(4000 * SECOND);
        harness.pass(10 * SECOND).await;
        harness.settings.ipuof_dir = Some(Path::new("/right").into());
        harness.shelf.probe_time.set(Duration::ZERO);
        harness.configure();
        let (when, event) = harness.answer().await;
        assert_eq!(event, Event::Up(id(1)));
        assert!(when < 1020 * SECOND, "{when:?}");
        assert_eq!(harness.log.count("files written to /right for 1001: config of slurm_1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_nobody_needs_is_not_probed() {
    play(vec![], async |harness| {
        let probes = |harness: &Harness| harness.shelf.probes.borrow()[Path::new("/ipuof")];
        read_only(harness, true);
        harness.pass(100 * SECOND).await;
        assert!(probes(harness) > 10);
        harness.settings.ipuof_dir = Some(Path::new("/right").into());
        harness.configure();
        harness.pass(SECOND).await;
        let before = probes(harness);
        harness.pass(100 * SECOND).await;
        assert_eq!(probes(harness), before);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait() {
    play(vec![], async |harness| {
        read_only(harness, true);
        harness.act(Action::Driver(DriverAction::Create(claim(1))));
        harness.pass(1000 * SECOND).await;
        harness.act(Action::Driver(DriverAction::CancelCreate(id(1))));
        assert_eq!(harness.event().await, (1000 * SECOND, Event::CreateCancelled(id(1))));
    })
    .await;
}

/// The IPUs are free when the partition is gone; its files are seen to when their directory is back.
#[tokio::test(start_paused = true)]
async fn files_in_a_directory_that_is_away_keep_their_entry_and_nothing_else() {
    play(vec![], async |harness| {
        harness.up(1).await;
        read_only(harness, true);
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        let began = harness.elapsed();
        let (when, event) = harness.event().await;
        assert_eq!(event, Event::Gone(id(1)));
        assert!(when - began < 4 * SECOND, "{:?}", when - began);
        harness.pass(10_000 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 0);
        read_only(harness, false);
        harness.pass(40 * SECOND).await;
        assert_eq!(harness.log.count("journal gone slurm_1"), 1);
        assert!(harness.shelf.there.borrow().is_empty());
    })
    .await;
}

/// Nobody knows who is in charge: it may be another slurmctld, whose partitions these are by now.
#[tokio::test(start_paused = true)]
async fn nothing_is_removed_while_it_cannot_be_found_out_who_is_in_charge() {
    play(vec![], async |harness| {
        harness.up(1).await;
        let stale = JournalError::blind(Path::new("/state/vipu_journal"), &"Stale file handle");
        harness.journal_trouble.replace(Some(stale));
        harness.act(Action::Driver(DriverAction::Remove(claim(1))));
        harness.pass(1000 * SECOND).await;
        assert_eq!(harness.pod.partitions(), ["slurm_1"]);
        // A full disk is another matter: who is in charge can be read.
        let full =
            JournalError::new(Path::new("/state/vipu_journal"), "write it", &"No space left on device");
        harness.journal_trouble.replace(Some(full));
        assert_eq!(harness.event().await.1, Event::Gone(id(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_refuses_three_jobs_in_a_row_refuses_all() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::Refused; 8]);
        for job in 1..=5 {
            harness.act(Action::Driver(DriverAction::Create(claim(job))));
        }
        for job in 1..=2 {
            let reason = "controller pod:8090: Refused".to_owned();
            assert_eq!(harness.answer().await.1, Event::CreateFailed { partition: id(job), reason });
        }
        harness.pass(50 * SECOND).await;
        let refuses = "event refuses: Some(\"controller pod:8090: Refused\")";
        assert_eq!(harness.log.count(refuses), 1);
        let told =
            "job 3: vipu: creating partition slurm_3: 1 IPU on pod64, waiting: controller pod:8090: Refused";
        assert_eq!(harness.told.borrow().iter().filter(|line| *line == told).count(), 1);
        // Another try of each a minute later; the first success lets all go on.
        let last = harness.all_up(3..=5).await;
        assert!(last > 110 * SECOND && last < 130 * SECOND, "{last:?}");
        assert_eq!(harness.log.count("event refuses: None"), 1);
    })
    .await;
}

/// What a user asked for was refused, and nothing else is wrong: others have shown that.
#[tokio::test(start_paused = true)]
async fn who_is_refused_when_others_are_not_is_at_fault() {
    play(vec![], async |harness| {
        harness.pod.creates.borrow_mut().extend([Create::Refused; 3]);
        for job in 1..=3 {
            harness.act(Action::Driver(DriverAction::Create(claim(job))));
        }
        for _ in 1..=2 {
            assert!(matches!(harness.answer().await.1, Event::CreateFailed { .. }));
        }
        harness.pass(10 * SECOND).await;
        harness.pod.refused.borrow_mut().insert(id(3));
        harness.act(Action::Driver(DriverAction::Create(claim(4))));
        let mut answers = [harness.answer().await.1, harness.answer().await.1];
        answers.sort_by_key(|answer| matches!(answer, Event::Up(_)));
        assert!(
            matches!(&answers[0], Event::CreateFailed { partition, .. } if *partition == id(3)),
            "{answers:?}"
        );
        assert_eq!(answers[1], Event::Up(id(4)));
        assert!(harness.elapsed() < 20 * SECOND, "{:?}", harness.elapsed());
    })
    .await;
}
