//! Partitions that are made while their jobs still wait (`Prepare`), so that a job starts as soon as it has
//! nodes.
//!
//! A job whose nodes and IPUs are free is refused once more, and its partition is made. When the partition is
//! ready, the scheduler is woken. All questions here are asked under slurmctld's locks: no I/O, no waiting.

use crate::slurm::Job;
use crate::slurm::Test;
use ledger::{Candidate, Claim, Event, Ledger, Millis, Preparation, Wish};
use vipu_types::{ControllerName, JobRun, ModelName};

use crate::between_callbacks::OnNodes;
use crate::claiming;
use crate::expected::Expected;
use crate::frontend::Frontend;
use crate::in_slurm::{InSlurm, wish};
use crate::request::Resolved;
use crate::verdict::{Verdict, wait};
use crate::waiting_job::WaitingJob;

/// The reason in squeue while the partition is made.
const REASON: &str = "vipu: preparing";

/// The answer to the start of a job whose partition is prepared or being prepared. None for any other job. A
/// partition that the job does not want any more is given up.
pub(crate) fn of_prepared(frontend: &Frontend, job: impl Job, wanted: &Resolved) -> Option<Verdict> {
    let Preparation { claim, ready } = frontend.ledger().preparation(job.id())?;
    if !wanted.is_claimed_by(&frontend.ledger(), &claim, job.user(), job.restart_count()) {
        frontend.tell(Event::Forgo { job: job.id(), in_vain: false });
        return None;
    }
    if ready.is_some() {
        return Some(Verdict::Go);
    }
    let why = being_made(&frontend.ledger(), &claim);
    Some(wait(frontend, job, why))
}

/// Whether a waiting job asks for the partition that is claimed for it.
pub(crate) fn is_wanted(frontend: &Frontend, waiting: &WaitingJob, claim: &Claim) -> bool {
    let wanted = frontend.models(|models| waiting.wanted(models));
    wanted.is_some_and(|wanted| waiting.has_claimed(&wanted, &frontend.ledger(), claim))
}

/// Whether a partition is prepared, or being prepared, for this job. Then no other partition is looked for.
pub(crate) fn is_prepared(ledger: &Ledger, job: impl Job) -> bool {
    ledger.preparation(job.id()).is_some()
}

/// The reason of a job whose partition is prepared or being prepared. The inner `None` stands for a ready
/// partition, which needs no reason.
pub(crate) fn reason(ledger: &Ledger, job: impl Job) -> Option<Option<String>> {
    let Preparation { claim, ready } = ledger.preparation(job.id())?;
    Some(ready.is_none().then(|| being_made(ledger, &claim)))
}

/// The reason of a job whose partition is being prepared. It names the trouble that delays it, if any.
fn being_made(ledger: &Ledger, claim: &Claim) -> String {
    let trouble = ledger.trouble_of(claim);
    trouble.map_or_else(|| REASON.to_owned(), |trouble| trouble.to_string())
}

/// The claim of the partition that is ready for this job.
pub(crate) fn ready_for(ledger: &Ledger, job: impl Job, wanted: &Resolved) -> Option<Claim> {
    let Preparation { claim, ready } = ledger.preparation(job.id())?;
    let is_for = wanted.is_claimed_by(ledger, &claim, job.user(), job.restart_count());
    (ready.is_some() && is_for).then_some(claim)
}

/// Whether the partition of a job that could start now is made first. It is not for:
///
/// * a job that backfill starts, because backfill comes too rarely to be waited for
/// * a component of a heterogeneous job, which starts as a whole
/// * the record of a job array, because the task that begins gets an id of its own
/// * a job that ends at its first refusal, by `--immediate`
/// * a user with PrepareMax prepared partitions, or with one that waited in vain a short while ago
/// * a job that gets a partition of a pool without a reset
pub(crate) fn is_to_be_prepared(
    frontend: &Frontend,
    job: impl Job,
    wanted: &Resolved,
    controller: &ControllerName,
) -> bool {
    let (is_meant, most) = frontend
        .models(|models| (models.prepares(&wanted.model, job.is_batch()), models.prepare_max(&wanted.model)));
    is_meant
        && (job.is_batch() || job.is_awaited())
        && job.het_job() == 0
        && !job.is_unsplit_array()
        && !job.is_tried_by_backfill()
        && may_prepare(&frontend.ledger(), frontend.now(), job, &wanted.model, most)
        && is_made_or_reset(frontend, job, wanted, controller)
}

/// Whether the job has to wait for a create, or for the reset of a partition of a pool.
fn is_made_or_reset(
    frontend: &Frontend,
    job: impl Job,
    wanted: &Resolved,
    controller: &ControllerName,
) -> bool {
    let (wish, jobs) = (wish(job, wanted), InSlurm::new(frontend, job));
    let mut ledger = frontend.ledger();
    let is_pool = ledger.is_pool(&wanted.model);
    let choice = is_pool.then(|| ledger.choose_in_pool(&wish, controller, job.user(), &jobs));
    choice.is_none_or(|choice| choice.is_some_and(|choice| choice.needs_reset))
}

fn may_prepare(ledger: &Ledger, now: Millis, job: impl Job, model: &ModelName, most: u32) -> bool {
    ledger.may_prepare(now, job.id()) && ledger.may_prepare_for(now, job.user(), model, most)
}

/// The jobs that have to give up their prepared partitions for a job that finds no room. They come after it
/// in line. None if there are no such jobs.
pub(crate) fn displaced(
    ledger: &mut Ledger,
    now: Millis,
    own: &Wish,
    jobs: &InSlurm<impl Job>,
) -> Option<Vec<u32>> {
    if !ledger.is_any_prepared() {
        return None;
    }
    if !ledger.may_prepare(now, own.job()) {
        // A partition waited in vain for the job, because something other than IPUs delays it. To displace
        // others would only delay them too.
        return None;
    }
    let others = ledger.preparations().map(|it| it.claim);
    let comes_after = |claim: &Claim| {
        let resolved = Resolved { model: claim.model.clone(), size: claim.size, shape: claim.shape };
        let other = jobs.job(claim.run.job)?;
        (own.rank > wish(other, &resolved).rank).then_some(Candidate { job: other.id(), dying: false })
    };
    let candidates: Vec<_> = others.filter_map(|claim| comes_after(&claim)).collect();
    if candidates.is_empty() {
        return None;
    }
    ledger.victims(own, &candidates, jobs).filter(|found| !found.is_empty())
}

/// The nodes that this job cannot have, because jobs before it get them as soon as their partitions are
/// ready. Only the stock selector knows which jobs fit together on a node. Nodes that both jobs may share
/// therefore do not count.
pub(crate) fn nodes_before(
    ledger: &Ledger,
    expected: &Expected,
    job: impl Job,
    own: &Wish,
    jobs: &InSlurm<impl Job>,
) -> Vec<u32> {
    if !ledger.is_any_prepared() {
        expected.forget();
        return Vec::new();
    }
    let comes_before = |other: u32| {
        let Preparation { claim, .. } = ledger.preparation(other)?;
        let resolved = Resolved { model: claim.model, size: claim.size, shape: claim.shape };
        Some(wish(jobs.job(other)?, &resolved).rank > own.rank)
    };
    expected.of_others(job.id(), job.takes_whole_nodes(), comes_before)
}

/// Continues after the stock selector has found nodes for a start, possibly with jobs to preempt.
pub(crate) fn on_nodes(frontend: &Frontend, job: impl Job, test: &impl Test) -> Verdict {
    match frontend.on_nodes.take(&job.id()) {
        Some(OnNodes::Prepare(wanted)) if !test.has_victims() => begin(frontend, job, test, wanted),
        Some(OnNodes::Prepare(_)) | None => Verdict::Go,
        Some(OnNodes::Displace(others, why)) => {
            for job in others {
                frontend.tell(Event::Forgo { job, in_vain: false });
            }
            wait(frontend, job, format!("{why}; on their way out"))
        }
    }
}

fn begin(frontend: &Frontend, job: impl Job, test: &impl Test, wanted: Resolved) -> Verdict {
    let Some((_, claim)) = claiming::give(frontend, job, &test.chosen(), wanted) else {
        return Verdict::Go;
    };
    for other in frontend.expected.expect(job.id(), test.chosen(), job.takes_whole_nodes()) {
        // That job comes after this one. Otherwise its nodes would have been left out of the test.
        frontend.tell(Event::Forgo { job: other, in_vain: false });
    }
    let now = frontend.outside().unix_time();
    let run = JobRun::waiting(job.id(), job.restart_count(), now.0);
    frontend.prepare(Claim { run, ..claim });
    wait(frontend, job, REASON.into())
}
