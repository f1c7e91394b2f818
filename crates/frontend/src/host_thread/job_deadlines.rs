//! Jobs whose deadline may come before their partition (`--deadline`).
//!
//! Slurm ends a waiting job that cannot meet its deadline any more, and cuts the time limit of a job that
//! gets its nodes. It checks no limit of a job in CF (`job_time_limit` in job_mgr.c, 22.05).

use std::time::Duration;

use ledger::{Claim, Ledger, Seconds};
use tracing::info;

use super::end_job::{Outcome, end, starting, tell};
use super::watch_list::{WatchList, after};
use crate::frontend::Frontend;
use crate::internal_error::guard;
use crate::slurm::{Locked, Slurm};

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(250);
/// The longest time between two looks, because the clock may be set.
const LONGEST: Duration = Duration::from_secs(10);

/// The runs with a deadline, each with its deadline.
pub(super) type Deadlines = WatchList<(Claim, Seconds)>;

/// Adds a run with its deadline.
pub(super) fn watch(list: &mut Deadlines, frontend: &Frontend, claim: Claim, deadline: Seconds) {
    let pause = pause(frontend.outside().unix_time(), deadline);
    list.watch(after(frontend.now(), pause), (claim, deadline));
}

fn pause(now: Seconds, deadline: Seconds) -> Duration {
    let left = u64::try_from(deadline.0 - now.0).unwrap_or(0);
    Duration::from_secs(left).clamp(SHORTEST, LONGEST)
}

/// Ends the runs whose deadline has come.
pub(super) fn look(list: &mut Deadlines, frontend: &Frontend, slurm: &mut impl Slurm) {
    let now = frontend.outside().unix_time();
    let mut missed = list.due(frontend.now(), |(_, deadline)| pause(now, *deadline));
    let is_open = |claim: &Claim| is_waited_for(&frontend.ledger(), claim);
    missed.retain(|(claim, deadline)| *deadline <= now && is_open(claim));
    // Each run is ended once: a second try would tell its user again.
    list.retain(|item| is_open(&item.0) && !missed.contains(item));
    if missed.is_empty() {
        return;
    }
    let mut slurm = slurm.write();
    if frontend.is_closed() {
        return;
    }
    for (claim, _) in missed {
        if is_open(&claim) {
            guard(&|| format!("deadline of {}", claim.run), (), || miss(&mut slurm, &claim));
        }
    }
}

/// Whether the run has not been launched yet.
fn is_waited_for(ledger: &Ledger, claim: &Claim) -> bool {
    let job = claim.run.job;
    ledger.live_claim(job).is_some_and(|it| it.run == claim.run) && ledger.launch_raised(job)
}

fn miss(slurm: &mut impl Locked, claim: &Claim) {
    if starting(slurm, claim.run).is_none() {
        return;
    }
    let text = format!("vipu: partition {} was not there by the job's deadline", claim.partition);
    tell(slurm, claim.run.job, &text);
    let outcome = end(slurm, claim.run.job, Outcome::Failed);
    info!("{}: {outcome} ({text})", claim.run);
}
