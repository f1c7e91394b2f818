//! The number of a job's IPUs in Slurm's accounting, and Slurm's own limits on it.
//!
//! ```text
//! job_test   requested IPUs are entered; Slurm's limits are asked before the ledger;
//!            with whole nodes, the limits of IPUs are waived for Slurm's own check
//! job_begin  noted
//! allocated  allocated IPUs are entered; Slurm counts them when this callback returns
//! host thread, or the opening of the launch gate: Slurm's mark is put back
//! host thread, every few seconds: counts that Slurm has lost are made again
//! ```

use ledger::{Claim, Event, Hold};
use vipu_types::{ModelName, PartitionEnd};

use crate::clocks_and_queues::HostTask;
use crate::frontend::Frontend;
use crate::mutex::lock;
use crate::request::Resolved;
use crate::slurm::{Job, JobMut, Locked, Question};

/// Enters the IPUs that a tested job asks for.
pub(crate) fn request(frontend: &Frontend, job: &mut impl JobMut, wanted: &Resolved) {
    let of = frontend.gres_type(&wanted.model, wanted.size);
    job.enter_requested_ipus(&of, counted(frontend, wanted));
}

/// The IPUs that Slurm counts for a request.
fn counted(frontend: &Frontend, wanted: &Resolved) -> u64 {
    if counts_gres(frontend, &wanted.model) { wanted.size.get().into() } else { 0 }
}

/// Whether Slurm counts the GRES of this model's jobs.
pub(crate) fn counts_gres(frontend: &Frontend, model: &ModelName) -> bool {
    frontend.models().accounting(model).counts_gres()
}

/// Whether Slurm's own limits let a tested job start. Otherwise Slurm shows its reason, because it compares the
/// request with the limits after a refused start, too. The job then waits for no IPUs: it leaves the line.
pub(crate) fn is_within_limits(
    frontend: &Frontend,
    job: &mut impl JobMut,
    wanted: &Resolved,
    question: Question,
) -> bool {
    if let Some(waiver) = lock(&frontend.accounting_notes.waivers).remove(&job.id()) {
        job.end_waiver(&waiver);
    }
    let own = counted(frontend, wanted);
    let is_prepared = frontend.ledger().preparation(job.id()).is_some();
    // Slurm clears the reason of an earlier question. The last one is about the job alone.
    let is_within = (is_prepared || own == 0 || is_within_with_held(frontend, job, wanted, question))
        && job.is_within_limits(&frontend.gres_type(&wanted.model, wanted.size), own);
    if !is_within && is_prepared {
        frontend.tell(Event::Forgo { job: job.id(), in_vain: false });
    }
    if !is_within {
        frontend.ledger().leave_line(job.id());
    }
    is_within
}

/// Whether Slurm's limits let the job start beside the partitions of its model that are held without a running job, as if
/// jobs ran on them. A job with a prepared partition starts next, and must not be overtaken into a limit that both share.
/// Kept and idle partitions are those of their users. Idle ones make room for a start, but for the one that the job gets.
fn is_within_with_held(
    frontend: &Frontend,
    job: &mut impl JobMut,
    wanted: &Resolved,
    question: Question,
) -> bool {
    let (mut held, mut idle) = (0, Vec::new());
    let ipus = |claim: &Claim| u64::from(claim.size.get());
    for (claim, hold) in frontend.ledger().held_without_job() {
        if claim.run.job == job.id() || claim.model != wanted.model {
            continue;
        }
        let is_own = claim.user == job.user();
        let other = || job.other(claim.run.job);
        let is_alike = || other().is_some_and(|it| it.account() == job.account() || it.qos() == job.qos());
        match hold {
            Hold::Prepared if is_own || is_alike() => held += ipus(claim),
            Hold::Kept(_) if is_own => held += ipus(claim),
            Hold::Idle if is_own => idle.push(claim.clone()),
            _ => {}
        }
    }
    let (of, own) = (frontend.gres_type(&wanted.model, wanted.size), counted(frontend, wanted));
    let mut exceeds = |ipus: u64| {
        // A limit for each job says nothing about several jobs.
        let is_per_job = |reason: String| reason.ends_with("PerJob");
        !job.is_within_limits(&of, ipus) && !job.shown_reason().is_some_and(is_per_job)
    };
    if held > 0 && exceeds(own + held) {
        job.enter_ipus_for_limits(&of, own + held);
        return false;
    }
    let is_reused = |claim: &Claim| (claim.size, claim.shape) == (wanted.size, wanted.shape);
    if let Some(reused) = idle.iter().position(is_reused) {
        idle.swap_remove(reused);
    }
    let all = own + held + idle.iter().map(ipus).sum::<u64>();
    if question == Question::Start && !idle.is_empty() && exceeds(all) {
        for claim in idle {
            frontend.tell(Event::Freed(claim.partition));
        }
    }
    true
}

/// Waives the limits of IPUs for a job with whole nodes that may start now. Those of a job with IPUs were
/// asked before.
pub(crate) fn waive_for_whole_nodes(frontend: &Frontend, job: &mut impl JobMut) {
    if !job.gets_all_gres() {
        return;
    }
    let waiver = job.waive_ipu_limits();
    if !waiver.0.is_empty() {
        lock(&frontend.accounting_notes.waivers).insert(job.id(), waiver);
        frontend.outside().ask_host(HostTask::SettleAccounting);
    }
}

/// Enters the IPUs of a job that has just begun: Slurm has made its allocation and counts it next.
pub fn allocated(frontend: &Frontend, mut job: impl JobMut) {
    // The record of a job array keeps its id when a task is split off. The task has a copy of the marks.
    let array = job.array().map_or(0, |(array, _)| array);
    let waivers = lock(&frontend.accounting_notes.waivers);
    if let Some(waiver) = waivers.get(&job.id()).or_else(|| waivers.get(&array)) {
        job.end_waiver(waiver);
    }
    drop(waivers);
    if frontend.accounting_notes.begun.take(&job.id()).is_some() {
        enter(frontend, job);
    }
}

/// Enters the IPUs of a running job whose nodes have changed, because Slurm counts its allocation anew.
pub fn resized(frontend: &Frontend, job: impl JobMut) {
    enter(frontend, job);
}

fn enter(frontend: &Frontend, mut job: impl JobMut) {
    let Some(claim) = frontend.ledger().live_claim(job.id()).cloned() else { return };
    let of = frontend.gres_type(&claim.model, claim.size);
    if counts_gres(frontend, &claim.model) && job.enter_allocated_ipus(&of, claim.size) {
        lock(&frontend.accounting_notes.jobs).insert(job.id());
        frontend.outside().ask_host(HostTask::SettleAccounting);
        frontend.outside().ask_host(HostTask::WatchCount(claim));
    }
}

/// Watches the count of a job that an earlier slurmctld has counted.
pub(crate) fn adopt(frontend: &Frontend, job: impl Job, claim: &Claim) {
    let of = frontend.gres_type(&claim.model, claim.size);
    if job.has_counted(&of, claim.size) {
        frontend.outside().ask_host(HostTask::WatchCount(claim.clone()));
    }
}

/// Puts Slurm's mark back into the allocation of a job, if the number of IPUs is there.
pub fn clear(frontend: &Frontend, job: &mut impl JobMut) {
    if lock(&frontend.accounting_notes.jobs).remove(&job.id()) {
        job.clear_allocated_ipus();
    }
}

/// Whether an allocation has the number of IPUs in place of Slurm's mark.
#[must_use]
pub fn is_any_entered(frontend: &Frontend) -> bool {
    !lock(&frontend.accounting_notes.jobs).is_empty()
}

/// Takes back everything in Slurm's records.
pub(crate) fn settle(frontend: &Frontend, slurm: &mut impl Locked) {
    let entered: Vec<u32> = lock(&frontend.accounting_notes.jobs).iter().copied().collect();
    for job in entered {
        match slurm.job(job) {
            Some(mut job) => clear(frontend, &mut job),
            None => drop(lock(&frontend.accounting_notes.jobs).remove(&job)),
        }
    }
    let waivers = std::mem::take(&mut *lock(&frontend.accounting_notes.waivers));
    for (job, waiver) in waivers {
        if let Some(mut job) = slurm.job(job) {
            job.end_waiver(&waiver);
        }
    }
}

/// Writes the line of sacct for the partition of a job (`AccountingSteps`). It ends when the partition is gone, before
/// the job's record leaves COMPLETING. slurmctld may have been restarted between.
pub(crate) fn begin_line(frontend: &Frontend, job: &mut impl JobMut, claim: &Claim) {
    if frontend.models().has_partition_lines(&claim.model) {
        job.write_partition_line(&claim.partition, claim.run.start, None);
    }
}

/// Notes that the partition could not be made, or failed.
pub(crate) fn fail_line(frontend: &Frontend, claim: &Claim) {
    if frontend.models().has_partition_lines(&claim.model) {
        let mut failed = lock(&frontend.accounting_notes.failed_partitions);
        // Some lines have no end: those of jobs that left COMPLETING early.
        failed.retain(|partition| frontend.ledger().holder(partition).is_some());
        failed.insert(claim.partition.clone());
    }
}

/// Ends the line. `launch_raised`: the job was never launched.
pub(crate) fn end_line(frontend: &Frontend, job: &mut impl JobMut, claim: &Claim, launch_raised: bool) {
    let has_failed = lock(&frontend.accounting_notes.failed_partitions).remove(&claim.partition);
    // The record of a job that is past COMPLETING may be that of another run.
    if !frontend.models().has_partition_lines(&claim.model) || !job.is_completing() {
        return;
    }
    let end = match (has_failed, launch_raised) {
        (true, _) => PartitionEnd::Failed,
        (false, true) => PartitionEnd::Unused,
        (false, false) => PartitionEnd::Removed,
    };
    job.write_partition_line(&claim.partition, claim.run.start, Some(end));
}
