//! Faults that never end, and long queues that meet them. Jobs that can run do so, and the others wait with
//! the reason. No job holds nodes without a bound. No job without a part in the fault is held, failed or
//! requeued.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use vipu_types::ModelName;

use crate::cluster::Cluster;
use crate::controller::Mood;
use crate::end::{self, Leaving};
use crate::faults::Kind;
use crate::play;
use crate::schedule::Schedule;
use crate::slurm::{Job, State};

/// The time after which the jobs of a stopped model are checked.
const LOOK: Duration = Duration::from_secs(3600);

/// Both controllers of pod64.
const POD64: [usize; 2] = [0, 1];

/// Waits until everything is done that can be done during the faults.
pub async fn outlast(cluster: &Rc<Cluster>) -> Result<(), String> {
    if stopped(&cluster.schedule).is_empty() {
        return end::drain(cluster, Leaving::MayStay).await;
    }
    // In a long line a create may find no room before the fault begins.
    let before = cluster.counts.borrow().failed;
    sleep(LOOK).await;
    let ended = cluster.counts.borrow().failed - before;
    if waits_in_cf(&cluster.schedule) && ended > 0 {
        return Err(format!("{ended} runs were ended that had no part in the fault"));
    }
    let slurm = cluster.slurm.borrow();
    let wrong = slurm.jobs.values().find_map(|job| wrong(cluster, job));
    wrong.map_or(Ok(()), Err)
}

/// The models on which no job can start.
fn stopped(schedule: &Schedule) -> Vec<&'static str> {
    if waits_in_cf(schedule) {
        return schedule.models.iter().map(|(model, _)| *model).collect();
    }
    let is_at = |controller: usize| schedule.faults.iter().any(|fault| fault.pick == controller);
    if POD64.into_iter().all(is_at) { vec!["pod64"] } else { Vec::new() }
}

/// Whether jobs that have nodes wait for the end of the fault, which may take half a day, because no
/// controller is at fault.
fn waits_in_cf(schedule: &Schedule) -> bool {
    schedule.faults.iter().any(|fault| matches!(fault.kind, Kind::FilesRefused | Kind::JournalFull))
}

/// The error of a job that is still there after an hour.
fn wrong(cluster: &Cluster, job: &Job) -> Option<String> {
    let since = Instant::now() - job.since;
    let is_stopped =
        stopped(&cluster.schedule).into_iter().any(|model| job.model == ModelName::new(model).unwrap());
    let what = match (job.state, job.reason.as_deref()) {
        _ if !is_stopped => "could run",
        (State::Pending, Some(reason)) if reason.starts_with("vipu: ") => return None,
        (State::Pending, _) => "waits without a reason",
        (State::Held, _) => "is held",
        // The driver gives it up later:
        // `a_directory_that_never_comes_back_gives_the_nodes_back_after_half_a_day`.
        (State::Configuring, _) if waits_in_cf(&cluster.schedule) => return None,
        _ => "has nodes",
    };
    Some(format!(
        "job {} of {} {what}: {:?} for {since:?}, reason {:?}",
        job.id, job.model, job.state, job.reason
    ))
}

/// Plays a schedule. No job may be held.
fn outlasts(seed: u64, faults: &[(Kind, usize)]) {
    let outcome = play::play(Schedule::endless(seed, faults), None);
    let outcome = outcome.unwrap_or_else(|why| panic!("{why}\n\nseed {seed} of {faults:?}"));
    assert_eq!(outcome.counts.held, 0, "seed {seed} of {faults:?}");
}

#[test]
fn jobs_go_to_the_other_controller_while_one_is_out_for_ever() {
    for mood in [Mood::Silent, Mood::Refuses, Mood::Stranger, Mood::RemovesNothing] {
        for seed in 0..4 {
            outlasts(seed, &[(Kind::InMood(mood), 0)]);
        }
    }
}

#[test]
fn jobs_wait_with_the_reason_while_all_controllers_of_their_model_are_out_for_ever() {
    for mood in [Mood::Silent, Mood::Refuses, Mood::Stranger] {
        for seed in 0..4 {
            outlasts(seed, &POD64.map(|controller| (Kind::InMood(mood), controller)));
        }
    }
}

#[test]
fn no_job_pays_for_a_directory_or_a_journal_that_is_gone_for_ever() {
    for kind in [Kind::FilesRefused, Kind::JournalFull] {
        for seed in 0..4 {
            outlasts(seed, &[(kind, 0)]);
        }
    }
}
