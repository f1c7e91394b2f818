//! Partitions of an earlier slurmctld in the journal: each finds its run, stays a while, or is removed.

use ledger::{
    Action, AdoptedAs, Awaits, Claim, DriverAction, Event, RecordedPartition, RecordedStage, Seconds, Stale,
};
use tracing::{info, warn};

use crate::frontend::Frontend;
use crate::jobs_before::JobsBefore;
use crate::preparing;
use crate::sync::lock;

/// The time in seconds for which no other job gets a partition of a pool, if processes of its job may be left.
const FOR_PROCESSES: i64 = 600;

/// Takes over the partitions of the journal, after Slurm's jobs were taken over. A partition without a run is
/// removed.
pub fn take_over(frontend: &Frontend, records: impl IntoIterator<Item = RecordedPartition>) {
    for record in records.into_iter().filter(|record| record.stage != RecordedStage::Withheld) {
        let claim = frontend.jobs_before.complete(&record.claim);
        let holder = frontend.ledger().holder(&claim.partition).cloned();
        let has_it = holder.as_ref().is_some_and(|holder| holder.run == claim.run);
        if let Some(at) = record.launched.filter(|_| has_it) {
            lock(&frontend.launched_before).insert((claim.partition.clone(), claim.run.job), at);
        }
        if let Some(holder) = holder {
            if !record.has_durable_files {
                write_files_anew(frontend, holder);
            }
            continue;
        }
        if let RecordedStage::Kept(until) = record.stage {
            info!("partition {}: {} failed and left it for a while", claim.partition, claim.run);
            frontend.tell(Event::Adopt(claim, AdoptedAs::Kept(until)));
        } else if is_waited_for(frontend, &record) {
            info!("partition {}: {} still waits for it", claim.partition, claim.run);
            frontend.prepare(claim);
        } else if may_have_processes(frontend, &record) {
            let until = Seconds(frontend.outside().unix_time().0.saturating_add(FOR_PROCESSES));
            warn!(
                "partition {} of a pool: {} began on it, and Slurm's saved state does not know of it. Processes of the job may be \
                 left, so no other job gets the partition for {} minutes, unless `svipu partition free {}` says that there are none",
                claim.partition,
                claim.run,
                FOR_PROCESSES / 60,
                claim.partition
            );
            frontend.tell(Event::Adopt(claim, AdoptedAs::Kept(until)));
        } else {
            say_why_it_goes(&frontend.jobs_before, &record);
            frontend.tell(Event::Orphan(claim));
        }
    }
    frontend.jobs_before.forget();
}

/// Has the files of a running job's partition written anew. For a job that still waits for its partition, the
/// create writes them.
fn write_files_anew(frontend: &Frontend, claim: Claim) {
    if frontend.ledger().awaits(&claim) == Some(Awaits::JobEnd) {
        frontend.carry_out(vec![Action::Driver(DriverAction::Refresh(claim, Stale::MayBeLost))]);
    }
}

/// Whether processes of a run may be left on a partition of a pool. Slurm saved its state before the run began, and
/// does not know of it. Another partition would be removed, which cuts the processes off.
fn may_have_processes(frontend: &Frontend, record: &RecordedPartition) -> bool {
    let RecordedPartition { claim, stays, stage, .. } = record;
    *stage == RecordedStage::Wanted
        && *stays
        && claim.run.has_begun()
        && frontend.ledger().is_pool(&claim.model)
        && !frontend.jobs_before.has_seen_end(claim.run)
}

/// Whether the partition was made for a job that still waits for it.
fn is_waited_for(frontend: &Frontend, record: &RecordedPartition) -> bool {
    let RecordedPartition { claim, stage, .. } = record;
    *stage == RecordedStage::Wanted
        && !claim.run.has_begun()
        && (frontend.jobs_before.waiting(claim.run.job))
            .is_some_and(|waiting| preparing::is_wanted(frontend, &waiting, claim))
}

fn say_why_it_goes(jobs_before: &JobsBefore, record: &RecordedPartition) {
    let RecordedPartition { claim, stays, stage, .. } = record;
    let (partition, run) = (&claim.partition, claim.run);
    let goes = if *stays { "giving it back" } else { "removing it" };
    let why = match stage {
        RecordedStage::Removing => "slurmctld ended while it was being removed",
        RecordedStage::GivenUp => "its create was given up without a clear answer, so it may still be made",
        _ if !run.has_begun() => "no job waits for it any more",
        _ if jobs_before.has_waiting(run.job) => "Slurm's saved state has the job in line",
        _ => {
            return warn!("partition {partition}: {run} ended while slurmctld was away; {goes}");
        }
    };
    info!("partition {partition} of {run}: {why}; {goes}");
}
