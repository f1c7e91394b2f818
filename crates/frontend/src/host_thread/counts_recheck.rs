//! Checks whether Slurm still counts the IPUs of running jobs.
//!
//! slurmctld makes the counts of all jobs anew when the list of TRES changes, and when slurmdbd is back after
//! slurmctld was started without it. It asks no plugin. IPUs then count 0, and what was added to the use at the
//! start of a job would never be taken off.

use std::collections::BTreeSet;
use std::time::Duration;

use ledger::Claim;
use tracing::info;

use super::watch_list::WatchList;
use crate::frontend::Frontend;
use crate::slurm::{Job, JobMut, Locked, Slurm};

/// The time between two checks of a job. The loss is rare, and costs something only when a job ends.
pub(super) const POLL: Duration = Duration::from_secs(5);

/// The result of a check.
#[derive(PartialEq, Eq)]
enum Found {
    Over,
    Counted,
    Lost,
}

pub(super) fn look(list: &mut WatchList<Claim>, frontend: &Frontend, slurm: &mut impl Slurm) {
    let claims = list.due(frontend.now(), |_| POLL);
    if claims.is_empty() {
        return;
    }
    let jobs: Vec<u32> = claims.iter().map(|claim| claim.run.job).collect();
    let seen = slurm.look_at(&jobs, |job| {
        let found = match (job.is_running() || job.is_suspended(), job.has_lost_count()) {
            (false, _) => Found::Over,
            (true, false) => Found::Counted,
            (true, true) => Found::Lost,
        };
        (job.restart_count(), found)
    });
    let (mut over, mut lost) = (BTreeSet::new(), Vec::new());
    for (claim, seen) in claims.into_iter().zip(seen) {
        match seen {
            Some((restart, Found::Counted)) if restart == claim.run.restart => {}
            Some((restart, Found::Lost)) if restart == claim.run.restart => lost.push(claim),
            _ => drop(over.insert(claim.partition)),
        }
    }
    list.retain(|claim| !over.contains(&claim.partition));
    if !lost.is_empty() {
        info!("Slurm has made its counts anew; running jobs whose IPUs are entered again: {}", lost.len());
        enter_again(&lost, frontend, slurm);
    }
}

fn enter_again(claims: &[Claim], frontend: &Frontend, slurm: &mut impl Slurm) {
    let mut slurm = slurm.write();
    for claim in claims {
        if let Some(mut job) = slurm.job(claim.run.job).filter(|job| is_of_run(job, claim)) {
            job.count_again(&frontend.gres_type(&claim.model, claim.size), claim.size);
        }
    }
}

fn is_of_run(job: &impl JobMut, claim: &Claim) -> bool {
    job.restart_count() == claim.run.restart && (job.is_running() || job.is_suspended())
}
