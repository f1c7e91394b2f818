//! Partitions that are made while their jobs still wait (`Prepare`), so that a job launches the moment it has nodes.
//!
//! A job whose nodes and IPUs are free is refused once more, and its partition is made. When it is there, the
//! scheduler is woken. What is asked here is asked under slurmctld's locks: no I/O, no waiting.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use driver::{LiveRecord, Stage};
use ledger::{Candidate, Claim, Event, Preparation, Wait, Wish};
use slurm_host::job::JobRef;
use slurm_host::job_test::Test;
use slurm_host::locks::Waiting;
use vipu_types::{JobRun, ModelName};

use crate::callbacks;
use crate::plugin::Plugin;
use crate::request::{Request, Resolved};
use crate::scheduling::{InSlurm, Verdict, wait, wish};
use crate::sync::{Mutex, lock};

/// What squeue shows as the reason meanwhile.
const REASON: &str = "vipu: preparing";

/// What is to be done once the stock selector has found nodes for a start.
pub(crate) enum OnNodes {
    /// Have the partition made first.
    Prepare(Resolved),
    /// Have what was prepared for these jobs removed, which come after; and why the job has to wait for that.
    Displace(Vec<u32>, Wait),
}

/// The jobs that there were when this slurmctld took over, until the journal tells what they have.
#[derive(Default)]
pub(crate) struct JobsBefore(Mutex<HashMap<u32, Before>>);

/// What the journal does not tell of a job.
struct Before {
    /// What it asks for, if it waits.
    waiting: Option<Waiting>,
    slurm_partition: Option<String>,
}

impl JobsBefore {
    pub(crate) fn add(&self, job: JobRef<'_>) {
        let before = Before { waiting: Waiting::of(job), slurm_partition: job.slurm_partition() };
        lock(&self.0).insert(job.id(), before);
    }

    fn wait_for(&self, plugin: &Plugin, claim: &Claim) -> bool {
        let all = lock(&self.0);
        let waiting = all.get(&claim.run.job).and_then(|before| before.waiting.as_ref());
        waiting.is_some_and(|waiting| is_wanted(plugin, claim, waiting))
    }

    /// Whether this job waits, by what Slurm has saved of it.
    pub(crate) fn has_waiting(&self, job: u32) -> bool {
        lock(&self.0).get(&job).is_some_and(|before| before.waiting.is_some())
    }

    /// A claim of the journal, in full.
    pub(crate) fn complete(&self, claim: &Claim) -> Claim {
        let slurm_partition =
            lock(&self.0).get(&claim.run.job).and_then(|before| before.slurm_partition.clone());
        Claim { slurm_partition, ..claim.clone() }
    }

    /// Nobody asks any more.
    pub(crate) fn forget(&self) {
        lock(&self.0).clear();
    }
}

/// What is answered to a start of a job whose partition is, or is being, made; none for any other. What it does not want
/// any more is given up.
pub(crate) fn of_prepared(plugin: &Plugin, job: JobRef<'_>, wanted: &Resolved) -> Option<Verdict> {
    let Preparation { claim, ready } = plugin.ledger().preparation(job.id())?;
    if !is_for(&claim, job, wanted) {
        plugin.tell(Event::Forgo { job: job.id(), in_vain: false });
        return None;
    }
    if ready.is_some() {
        return Some(Verdict::Go);
    }
    let trouble = plugin.ledger().trouble_of(&claim);
    Some(wait(plugin, job, trouble.map_or_else(|| REASON.into(), |trouble| trouble.to_string())))
}

/// Whether a partition is there, or on its way, for this job: no other one is to be looked for.
pub(crate) fn is_prepared(plugin: &Plugin, job: JobRef<'_>) -> bool {
    plugin.ledger().preparation(job.id()).is_some()
}

/// What a job shows whose partition is, or is being, made: nothing once it is there.
pub(crate) fn reason(plugin: &Plugin, job: JobRef<'_>) -> Option<Option<String>> {
    let Preparation { ready, .. } = plugin.ledger().preparation(job.id())?;
    Some(ready.is_none().then(|| REASON.to_owned()))
}

/// The claim of the partition that is there for this job.
pub(crate) fn ready_for(plugin: &Plugin, job: JobRef<'_>, wanted: &Resolved) -> Option<Claim> {
    let Preparation { claim, ready } = plugin.ledger().preparation(job.id())?;
    (ready.is_some() && is_for(&claim, job, wanted)).then_some(claim)
}

/// Whether the partition of a job that could start now is to be made first.
///
/// Not of one that backfill starts: it comes too rarely to be waited for. Not of a part of a heterogeneous job, which
/// starts as a whole. Not of an array's record: the task that begins gets an id of its own. Not of one that ends at the
/// first refusal, as `--immediate` has it. Not of more than PrepareMax of one user, nor of one who let one wait in vain.
pub(crate) fn is_to_be_prepared(plugin: &Plugin, job: JobRef<'_>, wanted: &Resolved) -> bool {
    let (is_meant, most) = plugin
        .models(|models| (models.prepares(&wanted.model, job.is_batch()), models.prepare_max(&wanted.model)));
    is_meant
        && (job.is_batch() || job.is_awaited())
        && job.het_job() == 0
        && !job.is_unsplit_array()
        && !job.is_tried_by_backfill()
        && may_prepare(plugin, job, &wanted.model, most)
}

fn may_prepare(plugin: &Plugin, job: JobRef<'_>, model: &ModelName, most: u32) -> bool {
    let (ledger, now) = (plugin.ledger(), plugin.now());
    ledger.may_prepare(now, job.id()) && ledger.may_prepare_for(now, job.user(), model, most)
}

/// Whom a job that finds no room comes before, and who have to give up for it what was prepared for them.
pub(crate) fn displaced(plugin: &Plugin, own: &Wish, jobs: &InSlurm<'_>) -> Option<Vec<u32>> {
    let mut ledger = plugin.ledger();
    if !ledger.is_any_prepared() {
        return None;
    }
    if !ledger.may_prepare(plugin.now(), own.job()) {
        // It had a partition, and did not start: something else keeps it, and would keep the others waiting with it.
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

/// The nodes that jobs before this one are about to have, as soon as their partitions are there: they are not free for it.
/// As nobody else than the stock selector knows what fits on a node beside others, only those of jobs that take whole nodes
/// are, or all if this one does.
pub(crate) fn nodes_before(plugin: &Plugin, job: JobRef<'_>, own: &Wish, jobs: &InSlurm<'_>) -> Vec<u32> {
    if !plugin.ledger().is_any_prepared() {
        plugin.expected.forget();
        return Vec::new();
    }
    let comes_before = |other: u32| {
        let Preparation { claim, .. } = plugin.ledger().preparation(other)?;
        let resolved = Resolved { model: claim.model, size: claim.size, shape: claim.shape };
        Some(wish(jobs.job(other)?, &resolved).rank > own.rank)
    };
    plugin.expected.of_others(job.id(), job.takes_whole_nodes(), comes_before)
}

/// The stock selector has found nodes for a start, for which others may have to be preempted.
pub(crate) fn on_nodes(plugin: &Plugin, job: JobRef<'_>, test: &Test<'_>) -> Verdict {
    match plugin.on_nodes.take(&job.id()) {
        Some(OnNodes::Prepare(wanted)) if !test.has_victims() => begin(plugin, job, test, wanted),
        Some(OnNodes::Prepare(_)) | None => Verdict::Go,
        Some(OnNodes::Displace(others, why)) => {
            for job in others {
                plugin.tell(Event::Forgo { job, in_vain: false });
            }
            wait(plugin, job, format!("{why}; on their way out"))
        }
    }
}

fn begin(plugin: &Plugin, job: JobRef<'_>, test: &Test<'_>, wanted: Resolved) -> Verdict {
    let Some((_, claim)) = callbacks::give(plugin, job, test.nodes().0, wanted) else { return Verdict::Go };
    for other in plugin.expected.expect(job.id(), test.chosen(), job.takes_whole_nodes()) {
        // It comes after this one, or these nodes would not have been looked at.
        plugin.tell(Event::Forgo { job: other, in_vain: false });
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
    let run = JobRun::waiting(job.id(), job.restart_count(), now);
    plugin.prepare(Claim { run, ..claim });
    wait(plugin, job, REASON.into())
}

fn is_for(claim: &Claim, job: JobRef<'_>, wanted: &Resolved) -> bool {
    let asked = (job.user(), job.restart_count(), &wanted.model, wanted.size);
    asked == (claim.user, claim.run.restart, &claim.model, claim.size)
}

/// The same for a job that is looked at from elsewhere.
pub(crate) fn is_wanted(plugin: &Plugin, claim: &Claim, waiting: &Waiting) -> bool {
    // Its options cannot have changed.
    let request = Request { tres: waiting.tres.clone(), ..Request::default() };
    let Ok(Some(wanted)) = plugin.models(|models| models.find(&request)) else { return false };
    let asked = (waiting.user, waiting.restart, &wanted.model, wanted.size);
    asked == (claim.user, claim.run.restart, &claim.model, claim.size)
}

/// Whether a partition of the journal was made for a job that still waits for it.
pub(crate) fn is_still_wanted(plugin: &Plugin, record: &LiveRecord) -> bool {
    let is_kept = matches!(record.stage, Stage::Creating | Stage::Created);
    is_kept && !record.claim.run.has_begun() && plugin.jobs_before.wait_for(plugin, &record.claim)
}
