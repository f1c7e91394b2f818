//! Jobs whose deadline may come before their partition (`--deadline`).
//!
//! Slurm ends a waiting job that cannot meet its deadline any more, and cuts the time limit of a job that
//! gets its nodes. It checks no limit of a job in CF (`job_time_limit` in job_mgr.c, 22.05).

use std::time::Duration;

use ledger::{Claim, Seconds};
use tracing::info;

use super::end_job::{Outcome, end, starting, tell};
use super::watch_list::{WatchList, after};
use crate::frontend::Frontend;
use crate::guard::guard;
use crate::slurm::{Locked, Slurm};

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(250);
/// The longest time between two looks, because the clock may be set.
const LONGEST: Duration = Duration::from_secs(10);

/// The runs with a deadline, each with its deadline.
pub(super) type Deadlines = WatchList<(Claim, Seconds)>;

/// Adds a run with its deadline.
pub(super) fn watch(list: &mut Deadlines, frontend: &Frontend, claim: Claim, deadline: Seconds) {
    list.watch(after(frontend.now(), pause(frontend, deadline)), (claim, deadline));
}

fn pause(frontend: &Frontend, deadline: Seconds) -> Duration {
    let left = u64::try_from(deadline.0 - frontend.outside().unix_time().0).unwrap_or(0);
    Duration::from_secs(left).clamp(SHORTEST, LONGEST)
}

/// Ends the runs whose deadline has come.
pub(super) fn look(list: &mut Deadlines, frontend: &Frontend, slurm: &mut impl Slurm) {
    let now = frontend.outside().unix_time();
    let mut missed = list.due(frontend.now(), |(_, deadline)| pause(frontend, *deadline));
    missed.retain(|(claim, deadline)| *deadline <= now && is_waited_for(frontend, claim));
    // Each run is ended once: a second try would tell its user again.
    list.retain(|item| is_waited_for(frontend, &item.0) && !missed.contains(item));
    if missed.is_empty() {
        return;
    }
    let mut slurm = slurm.write();
    if frontend.is_closed() {
        return;
    }
    for (claim, _) in missed {
        guard(&|| format!("deadline of {}", claim.run), (), || miss(frontend, &mut slurm, &claim));
    }
}

/// Whether the run has not been launched yet.
fn is_waited_for(frontend: &Frontend, claim: &Claim) -> bool {
    let (ledger, job) = (frontend.ledger(), claim.run.job);
    ledger.live_claim(job).is_some_and(|it| it.run == claim.run) && ledger.launch_raised(job)
}

fn miss(frontend: &Frontend, slurm: &mut impl Locked, claim: &Claim) {
    if !is_waited_for(frontend, claim) || starting(slurm, claim.run).is_none() {
        return;
    }
    let text = format!("vipu: partition {} was not there by the job's deadline", claim.partition);
    tell(slurm, claim.run.job, &text);
    let outcome = end(slurm, claim.run.job, Outcome::Failed);
    info!("{}: {outcome} ({text})", claim.run);
}
