//! A claim as a partition of the status document.

use std::sync::Arc;

use ledger::{ClaimView, Phase, Step};
use vipu_status::{Partition, Place, State};

use super::clocks::Clocks;
use super::seen_jobs::{self, SeenJob};

pub(super) fn partition(view: ClaimView, clocks: Clocks, seen: Option<&SeenJob>) -> Partition {
    let (state, reason) = state(&view.phase);
    // The job that had an idle partition last has no part in it any more.
    let seen = seen.filter(|_| !matches!(state, State::Resetting | State::Idle));
    let suspended = seen.filter(|seen| state == State::Running && seen.is_suspended());
    let progress = seen
        .filter(|_| matches!(state, State::Preparing | State::Creating))
        .and_then(|seen| seen.reason.as_deref());
    let reason = reason.or_else(|| progress.map(str::to_owned));
    let reason = reason.or_else(|| suspended.map(|_| "its job is suspended".to_owned()));
    let kept_until = match &view.phase {
        Phase::Keeping { until, .. } | Phase::Kept { until } => Some(until.0),
        _ => None,
    };
    let (claim, places) = (view.claim, view.places);
    let mut job = Arc::unwrap_or_clone(seen_jobs::job(claim.run.job, seen));
    job.user = claim.user;
    job.slurm_partition = claim.slurm_partition.map(Arc::from).or(job.slurm_partition);
    // An idle partition is no job's. Its last one may have ended long ago.
    let job = (state != State::Idle).then(|| Arc::new(job));
    let chosen = if places.is_empty() { claim.ipus } else { Vec::new() };
    Partition {
        key: view.serial,
        id: Some(claim.partition.to_string()),
        job,
        model: claim.model.to_string(),
        controller: claim.controller.to_string(),
        size: claim.size.get(),
        places_are_assumed: places.is_empty() && chosen.is_empty(),
        places: places.into_iter().chain(chosen).map(place).collect(),
        state,
        since: clocks.unix(view.since),
        begun: clocks.unix(view.begun),
        ends: kept_until.or_else(|| seen?.ends(clocks.unix)),
        unlimited: kept_until.is_none() && seen.is_some_and(SeenJob::is_unlimited),
        ready_expected: None,
        reason,
    }
}

/// The name of a phase in the status document and the audit log.
pub fn state_name(phase: &Phase) -> &'static str {
    state(phase).0.name()
}

pub(super) fn place(place: ledger::Place) -> Place {
    Place { domain: place.domain, index: place.index }
}

pub(super) fn state(phase: &Phase) -> (State, Option<String>) {
    match phase {
        Phase::Preparing(_) => (State::Preparing, None),
        Phase::Prepared => (State::Prepared, None),
        Phase::Claimed | Phase::Creating => (State::Creating, None),
        Phase::GivenUp { reason } => (State::Creating, Some(reason.to_string())),
        Phase::Ready => (State::Ready, None),
        Phase::Running => (State::Running, None),
        Phase::Failed { reason } => (State::Failed, Some(reason.to_string())),
        Phase::Keeping { .. } | Phase::Kept { .. } => (State::Kept, None),
        Phase::Releasing { step: Step::CreateAnswer | Step::Nodes, .. } => (State::Ending, None),
        Phase::Releasing { step: Step::MakeIdle { .. }, .. } => (State::Resetting, None),
        Phase::Idle { .. } => (State::Idle, None),
        Phase::Releasing { step: Step::Removal, .. } => (State::Removing, None),
    }
}
