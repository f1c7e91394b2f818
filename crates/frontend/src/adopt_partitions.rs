//! Partitions of an earlier slurmctld in the journal: each finds its run, stays a while, or is removed.
//!
//! Slurm saves its jobs up to seconds after their launch, and a launch may be lost when slurmctld ends. So the nodes
//! are asked wherever the journal knows of a run of which Slurm's records may be wrong. "Launches around the end of
//! slurmctld" in docs/recovery.md has the table of what follows.

use std::collections::HashMap;
use std::time::Duration;

use ledger::{
    Action, AdoptedAs, Awaits, Claim, DriverAction, EndedRun, Event, RecordedPartition, RecordedStage,
    Seconds, Stale,
};
use tracing::{info, warn};
use vipu_types::{EndedBy, PartitionId};

use crate::clocks_and_queues::{HostTask, LostRuns, Script};
use crate::frontend::Frontend;
use crate::preparing;

/// The time in seconds for which no other job gets a partition of a pool, if processes of its job may be left.
const FOR_PROCESSES: i64 = 600;

/// The time in seconds before Slurm last saved its jobs in which a launch or an end counts as right before the end of
/// slurmctld. Slurm saves its jobs within five seconds of each change, and when it ends.
const RIGHT_BEFORE: i64 = 60;

/// Takes over the partitions of the journal, after Slurm's jobs were taken over. A partition without a run is
/// removed. `saved` is the time at which the earlier slurmctld last saved its jobs, if there was one.
pub fn take_over(
    frontend: &Frontend,
    records: impl IntoIterator<Item = RecordedPartition>,
    ended: &[EndedRun],
    saved: Option<Seconds>,
) {
    let records: Vec<_> = records.into_iter().collect();
    // The clock of a file server may be ahead of this one.
    let times = records.iter().filter_map(|record| record.launched).chain(ended.iter().map(|it| it.at));
    let saved = saved.map(|saved| times.fold(Seconds(i64::MIN), Seconds::max).min(saved));
    let ids = records.iter().map(|record| record.claim.run.job).chain(ended.iter().map(|it| it.run.job));
    let ids: Vec<_> = ids.collect();
    let ended: Vec<_> = ended.iter().filter(|it| is_right_before(it.at, saved)).copied().collect();
    let (mut left, mut orphans) = (Vec::new(), Vec::new());
    let mut launches = HashMap::new();
    for record in records {
        if let RecordedStage::Withheld(until) = record.stage {
            withhold(frontend, &record, until);
            continue;
        }
        let claim = frontend.before.jobs.complete(&record.claim);
        let holder = frontend.ledger().holder(&claim.partition).cloned();
        let has_it = holder.as_ref().is_some_and(|holder| holder.run == claim.run);
        if let Some(at) = record.launched.filter(|_| has_it) {
            launches.insert((claim.partition.clone(), claim.run.job), at);
        }
        let may_have_processes = may_have_processes(frontend, &record);
        let is_overtaken = |holder: &Claim| {
            may_have_processes && claim.nodes.is_empty() && claim.run.is_of_later_job(&holder.run)
        };
        if let Some(holder) = holder.filter(|holder| !is_overtaken(holder)) {
            if !record.has_durable_files {
                write_files_anew(frontend, holder);
            }
            if !has_it && may_have_processes {
                // Slurm saved its state before the partition went from the one job to the other.
                left.push((claim, record.launched.is_some()));
            }
            continue;
        }
        if let RecordedStage::Kept(until) = record.stage {
            info!("partition {}: {} failed and left it for a while", claim.partition, claim.run);
            frontend.tell(Event::Adopt(claim, AdoptedAs::Kept(until)));
        } else if is_waited_for(frontend, &record) {
            info!("partition {}: {} still waits for it", claim.partition, claim.run);
            frontend.prepare(frontend.ledger(), claim);
        } else if may_have_processes && claim.nodes.is_empty() {
            keep_without_nodes(frontend, claim);
        } else if may_have_processes {
            left.push((claim.clone(), record.launched.is_some()));
            orphans.push(claim);
        } else {
            say_why_it_goes(&record);
            orphans.push(claim);
        }
    }
    ask_for_scripts(frontend, &launches, &ended, saved);
    left.iter().for_each(|(claim, _)| say_why_it_stays(frontend, claim));
    frontend.outside().ask_host(HostTask::TakeOver(LostRuns { ids, left, ended }));
    // The host thread has the questions before it looks after the partitions.
    for claim in orphans {
        frontend.tell(Event::Orphan(claim));
    }
    frontend.before.jobs.forget();
}

/// Whether something at this time happened right before the end of the earlier slurmctld, so that Slurm may not have
/// saved it.
fn is_right_before(at: Seconds, saved: Option<Seconds>) -> bool {
    saved.is_none_or(|saved| at.0 >= saved.0.saturating_sub(RIGHT_BEFORE))
}

/// Has the nodes asked whether they run the scripts that were launched right before the end, or may have been.
fn ask_for_scripts(
    frontend: &Frontend,
    launches: &HashMap<(PartitionId, u32), Seconds>,
    ended: &[EndedRun],
    saved: Option<Seconds>,
) {
    for (job, place) in frontend.before.jobs.scripts() {
        let Some(claim) = frontend.ledger().live_claim(job).cloned() else { continue };
        if let Some(ended) = ended.iter().find(|ended| ended.run == claim.run) {
            if ended.by == EndedBy::TimeLimit {
                // Slurm ends it again once it counts as launched, long ago: it checks no limit of a job in CF.
                frontend.note_launched_before(&claim, Seconds(0));
            }
            continue;
        }
        let launched = launches.get(&(claim.partition.clone(), job)).copied();
        let is_running = frontend.ledger().is_launched(job);
        if !is_running || launched.is_some_and(|at| is_right_before(at, saved)) {
            let script = Script { claim, job: place.job, host: place.host, launched };
            frontend.outside().ask_host(HostTask::AskForScript(script));
        }
    }
}

/// Keeps a partition of a pool whose run began on nodes that are not on record, because an older slurm-vipu did not note
/// them.
fn keep_without_nodes(frontend: &Frontend, claim: Claim) {
    let (partition, run) = (&claim.partition, claim.run);
    let until = Seconds(frontend.outside().unix_time().0.saturating_add(FOR_PROCESSES));
    warn!(
        "partition {partition} of a pool: {run} began on it, and Slurm's saved state does not know of it. Processes of the job may be \
         left, so no other job gets the partition for {} minutes, unless `svipu partition free {partition}` says that there are none",
        FOR_PROCESSES / 60,
    );
    frontend.tell(Event::Adopt(claim, AdoptedAs::Kept(until)));
}

fn say_why_it_stays(frontend: &Frontend, claim: &Claim) {
    let Claim { partition, run, nodes, .. } = claim;
    let what = missing(claim, |job| frontend.before.jobs.has(job));
    info!(
        "partition {partition}: {run} began on it, and Slurm's saved state {what}; it stays until node {} has told whether processes of \
         the job are left",
        nodes.join(",")
    );
}

/// The words about what Slurm's saved state has not of a run. The tasks of a job array that were not split off are the
/// job with the id of the array.
fn missing(claim: &Claim, has_job: impl Fn(u32) -> bool) -> String {
    match claim.task {
        _ if has_job(claim.run.job) => "does not know of this run".to_owned(),
        None => "has lost this job, which has to be submitted again".to_owned(),
        Some((array, _)) if has_job(array) => "does not know of this run".to_owned(),
        Some((array, task)) => {
            format!(
                "has lost job array {array}, of which this was task {task}, and which has to be submitted again"
            )
        }
    }
}

/// Gives a partition of a pool to no job until this time. Others are gone.
fn withhold(frontend: &Frontend, record: &RecordedPartition, until: Seconds) {
    let left = u64::try_from(until.0.saturating_sub(frontend.outside().unix_time().0)).unwrap_or_default();
    if !record.stays || left == 0 {
        return;
    }
    let Claim { partition, run, .. } = &record.claim;
    info!(
        "partition {partition} of a pool: it could not be reset after {run}, or processes of the job may be left, so no job gets it \
         for {left} s, unless `svipu partition free {partition}` says that all is well"
    );
    frontend.tell(Event::Withheld { claim: record.claim.clone(), left: Duration::from_secs(left) });
}

/// Has the files of a running job's partition written anew. For a job that still waits for its partition, the
/// create writes them.
fn write_files_anew(frontend: &Frontend, claim: Claim) {
    if frontend.ledger().awaits(&claim) == Some(Awaits::JobEnd) {
        frontend.carry_out(vec![Action::Driver(DriverAction::Refresh(claim, Stale::MayBeLost))]);
    }
}

/// Whether processes of a run may be left. Slurm saved its state before the run began, and does not know of it. It
/// may believe that an earlier job still has the partition. If the nodes are not on record, only a partition of a pool is
/// kept: another one is removed, which cuts the processes off.
fn may_have_processes(frontend: &Frontend, record: &RecordedPartition) -> bool {
    let RecordedPartition { claim, stays, stage, .. } = record;
    let is_of_pool = || *stays && frontend.ledger().is_pool(&claim.model);
    *stage == RecordedStage::Wanted
        && claim.run.has_begun()
        && (!claim.nodes.is_empty() || is_of_pool())
        && !frontend.before.jobs.has_seen_end(claim.run)
}

/// Whether the partition was made for a job that still waits for it.
fn is_waited_for(frontend: &Frontend, record: &RecordedPartition) -> bool {
    let RecordedPartition { claim, stage, .. } = record;
    *stage == RecordedStage::Wanted
        && !claim.run.has_begun()
        && (frontend.before.jobs.waiting(claim.run.job))
            .is_some_and(|waiting| preparing::is_wanted(frontend, &waiting, claim))
}

fn say_why_it_goes(record: &RecordedPartition) {
    let RecordedPartition { claim, stays, stage, .. } = record;
    let (partition, run) = (&claim.partition, claim.run);
    let goes = if *stays { "giving it back" } else { "removing it" };
    let why = match stage {
        RecordedStage::Removing => "slurmctld ended while it was being removed",
        _ if !run.has_begun() => "no job waits for it any more",
        _ => {
            return warn!("partition {partition}: {run} ended while slurmctld was away; {goes}");
        }
    };
    info!("partition {partition} of {run}: {why}; {goes}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::claim;

    #[test]
    fn fault_a_lost_job_or_job_array_is_named() {
        let told = |task, saved: &[u32]| missing(&Claim { task, ..claim(47) }, |job| saved.contains(&job));
        assert!(told(None, &[46]).starts_with("has lost this job"));
        assert!(told(Some((46, 1)), &[45]).starts_with("has lost job array 46, of which this was task 1"));
        let run = "does not know of this run";
        assert_eq!([told(None, &[47]), told(Some((46, 1)), &[46]), told(Some((46, 1)), &[47])], [run; 3]);
    }
}
