//! Partitions that are made while their jobs still wait (`Prepare`), so that a job starts as soon as it has
//! nodes.
//!
//! A job whose nodes and IPUs are free is refused once more, and its partition is made. When the partition is
//! ready, the scheduler is woken. All questions here are asked under slurmctld's locks: no I/O, no waiting.

use std::time::Duration;

use crate::slurm::{Job, Test, Verdict};
use ledger::{Candidate, Claim, Event, Hold, Jobs as _, Ledger, Rank};
use tracing::info;
use vipu_types::{JobRun, Reason};

use crate::allowed_ipus::{AllowedIpus, AskingJob, PREPARING};
use crate::between_callbacks::OnNodes;
use crate::cabling::GroupIpus;
use crate::claiming;
use crate::frontend::Frontend;
use crate::jobs_for_ledger::{InSlurm, wish};
use crate::request::Resolved;
use crate::request::WaitingJob;

/// Gives up a partition that is prepared for a job, if the job does not want it any more.
pub(crate) fn forgo_unwanted(asking: &AskingJob<'_, impl Job>) {
    let AskingJob { frontend, job, wanted, .. } = asking;
    let is_unwanted = |ledger: &Ledger| {
        let claim = ledger.preparation(job.id())?.claim;
        Some(!wanted.is_claimed_by(ledger, &claim, job.user(), job.restart_count()))
    };
    let ledger = frontend.ledger();
    if is_unwanted(&ledger) == Some(true) {
        frontend.tell_locked(ledger, Event::Forgo { job: job.id(), in_vain: false });
    }
}

/// Whether a waiting job asks for the partition that is claimed for it.
pub(crate) fn is_wanted(frontend: &Frontend, waiting: &WaitingJob, claim: &Claim) -> bool {
    let wanted = waiting.wanted(&frontend.models());
    wanted.is_some_and(|wanted| waiting.has_claimed(&wanted, &frontend.ledger(), claim))
}

/// Whether the partition of a job that could start now is made first. It is not for:
///
/// * a job that backfill starts, because backfill comes too rarely to be waited for
/// * a component of a heterogeneous job, which starts as a whole
/// * the record of a job array, because the task that begins gets an id of its own
/// * a job that ends at its first refusal, by `--immediate`
/// * a user with PrepareMax prepared partitions, or with one that waited in vain a short while ago
/// * a job that gets a partition of a pool without a reset
pub(crate) fn is_to_be_prepared(asking: &AskingJob<'_, impl Job>, ipus: &GroupIpus) -> bool {
    let AskingJob { frontend, job, wanted, .. } = asking;
    let models = frontend.models();
    models.prepares(&wanted.model, job.is_batch())
        && (job.is_batch() || job.is_awaited())
        && job.het_job() == 0
        && !job.is_unsplit_array()
        && !job.is_tried_by_backfill()
        && may_prepare(asking, models.prepare_max(&wanted.model))
        && is_made_or_reset(asking, ipus)
}

/// Whether the job has to wait for a create, or for the reset of a partition of a pool.
fn is_made_or_reset(asking: &AskingJob<'_, impl Job>, ipus: &GroupIpus) -> bool {
    let AskingJob { frontend, job, wish, jobs, .. } = asking;
    let GroupIpus::Of(controller) = ipus else { return true };
    let mut ledger = frontend.ledger();
    let is_pool = ledger.is_pool(&wish.model);
    let choice = is_pool.then(|| ledger.choose_in_pool(wish, controller, job.user(), jobs));
    choice.is_none_or(|choice| choice.is_some_and(|choice| choice.needs_reset))
}

fn may_prepare(asking: &AskingJob<'_, impl Job>, most: u32) -> bool {
    let (ledger, now, job) = (asking.frontend.ledger(), asking.frontend.now(), asking.job);
    ledger.may_prepare(now, job.id()) && ledger.may_prepare_for(now, job.user(), &asking.wish.model, most)
}

/// The rank of a job with a prepared partition. None if the job does not exist any more.
fn rank_of(claim: &Claim, asking: &AskingJob<'_, impl Job>) -> Option<Rank> {
    let resolved = Resolved { model: claim.model.clone(), size: claim.size, shape: claim.shape };
    Some(wish(asking.jobs.job(claim.run.job)?, &resolved).rank)
}

/// The jobs that have to give up their partitions, which are prepared or kept, for a job that finds no room. Those with
/// a prepared one come after it in line. None if there are no such jobs.
pub(crate) fn displaced(asking: &AskingJob<'_, impl Job>, ipus: &AllowedIpus) -> Option<Vec<u32>> {
    let AskingJob { frontend, job, wish, .. } = asking;
    let (models, now) = (frontend.models(), frontend.now());
    let held: Vec<(Claim, Hold)> = {
        let ledger = frontend.ledger();
        if !ledger.may_prepare(now, job.id()) {
            // A partition waited in vain for the job, because something other than IPUs delays it. To displace
            // others would only delay them too.
            return None;
        }
        ledger.held_without_job().map(|(claim, hold)| (claim.clone(), hold)).collect()
    };
    let gives_way = |(claim, hold): &&(Claim, Hold)| match hold {
        Hold::Prepared => rank_of(claim, asking).is_some_and(|rank| wish.rank > rank),
        Hold::Kept(since) => {
            let kept = Duration::from_millis(now.0.saturating_sub(since.0));
            kept >= models.failure_limits(&claim.model).least_keep
        }
        Hold::Idle => false,
    };
    let candidates = held.iter().filter(gives_way).map(|(claim, _)| claim.run.job);
    let candidates: Vec<_> = candidates.map(|job| Candidate { job, dying: false }).collect();
    if candidates.is_empty() {
        return None;
    }
    ipus.victims(asking, &candidates).filter(|found| !found.is_empty())
}

/// The nodes that a job cannot have, because jobs before it get them as soon as their partitions are
/// ready. Only the stock selector knows which jobs fit together on a node. Nodes that both jobs may share
/// therefore do not count.
pub(crate) fn nodes_before(asking: &AskingJob<'_, impl Job>) -> Vec<u32> {
    let AskingJob { frontend, job, wish, .. } = asking;
    let ledger = frontend.ledger();
    if !ledger.is_any_prepared() {
        frontend.expected.forget();
        return Vec::new();
    }
    let comes_before = |other: u32| Some(rank_of(&ledger.preparation(other)?.claim, asking)? > wish.rank);
    frontend.expected.of_others(job.id(), job.takes_whole_nodes(), comes_before)
}

/// Continues after the stock selector has found nodes for a start, possibly with jobs to preempt.
pub(crate) fn on_nodes(frontend: &Frontend, job: impl Job, test: &impl Test) -> Verdict {
    match frontend.test_notes.on_nodes.take(&job.id()) {
        Some(OnNodes::Prepare(wanted)) if !test.has_victims() => begin(frontend, job, test, wanted),
        Some(OnNodes::Prepare(_)) | None => Verdict::Go,
        Some(OnNodes::Displace(others, why)) => {
            others.into_iter().for_each(|other| give_way(frontend, other));
            frontend.wait(job, on_their_way_out(why))
        }
    }
}

/// The reason of a job that waits for nothing but removals.
pub(crate) fn on_their_way_out(why: Reason) -> Reason {
    why.telling(|line| format!("{line}; on their way out"))
}

/// Ends what is held for this job without a run.
fn give_way(frontend: &Frontend, job: u32) {
    let ledger = frontend.ledger();
    let is_kept = |(claim, hold): &(&Claim, Hold)| claim.run.job == job && matches!(hold, Hold::Kept(_));
    let kept: Vec<_> = ledger.held_without_job().filter(is_kept).map(|(claim, _)| claim.clone()).collect();
    if kept.is_empty() {
        frontend.tell_locked(ledger, Event::Forgo { job, in_vain: false });
        return;
    }
    drop(ledger);
    for claim in kept {
        info!(
            "{}: partition {} is kept no longer: a job waits for its IPUs (MinKeep)",
            claim.run, claim.partition
        );
        frontend.tell(Event::KeepOver(claim.partition));
    }
}

fn begin(frontend: &Frontend, job: impl Job, test: &impl Test, wanted: Resolved) -> Verdict {
    let (jobs, nodes) = (InSlurm::new(frontend, job), test.chosen());
    let mut ledger = frontend.ledger();
    let given = claiming::give(frontend, &mut ledger, &jobs, job, &nodes, wanted);
    let Some((_, claim)) = given else { return Verdict::Go };
    let run = JobRun::waiting(job.id(), job.restart_count(), jobs.now().0);
    frontend.prepare(ledger, Claim { run, ..claim });
    for other in frontend.expected.expect(job.id(), nodes, job.takes_whole_nodes()) {
        // That job comes after this one. Otherwise its nodes would have been left out of the test.
        frontend.tell(Event::Forgo { job: other, in_vain: false });
    }
    frontend.wait(job, PREPARING.into())
}
