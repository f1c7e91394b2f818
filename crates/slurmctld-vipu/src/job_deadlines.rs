//! Jobs whose deadline may come before their partition (`--deadline`).
//!
//! Slurm ends a job that waits in line when it cannot end by its deadline any more, and cuts the time limit of one that
//! gets its nodes; but it looks at no limit of a job in CF (`job_time_limit` in job_mgr.c, 22.05).

use std::time::Duration;

use ledger::{Claim, Seconds};
use slurm_host::boundary;
use slurm_host::locks::{HostThread, Locked};
use tracing::info;

use crate::host_thread::{Fate, end, starting, tell};
use crate::keep_and_requeue::now;
use crate::plugin::Plugin;

/// The longest time until the next look: the clock may be set.
const POLL: Duration = Duration::from_secs(10);

/// All of them, each with its deadline.
#[derive(Default)]
pub(crate) struct Deadlines(Vec<(Claim, Seconds)>);

impl Deadlines {
    /// Minds this one, too.
    pub(crate) fn watch(&mut self, claim: Claim, deadline: Seconds) {
        self.0.push((claim, deadline));
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        let Some(first) = self.0.iter().map(|(_, deadline)| deadline.0).min() else { return Duration::MAX };
        let left = u64::try_from(first - now().0).unwrap_or(0);
        Duration::from_secs(left).clamp(Duration::from_millis(250), POLL)
    }

    /// Ends those whose deadline has come.
    pub(crate) fn look(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        self.0.retain(|(claim, _)| is_waited_for(plugin, claim));
        let now = now();
        let missed: Vec<_> = self.0.extract_if(.., |(_, deadline)| *deadline <= now).collect();
        if missed.is_empty() {
            return;
        }
        let mut slurm = slurm.write();
        if plugin.is_closed() {
            return;
        }
        for (claim, _) in missed {
            boundary::guard(&|| format!("deadline of {}", claim.run), (), || {
                miss(plugin, &mut slurm, &claim)
            });
        }
    }
}

/// Whether the run has not been launched yet.
fn is_waited_for(plugin: &Plugin, claim: &Claim) -> bool {
    let (ledger, job) = (plugin.ledger(), claim.run.job);
    ledger.live_claim(job).is_some_and(|it| it.run == claim.run) && ledger.launch_raised(job)
}

fn miss(plugin: &Plugin, slurm: &mut Locked<'_>, claim: &Claim) {
    if !is_waited_for(plugin, claim) || starting(slurm, claim.run).is_none() {
        return;
    }
    let text = format!("vipu: partition {} was not there by the job's deadline", claim.partition);
    tell(slurm, claim.run.job, &text);
    let outcome = end(slurm, claim.run.job, Fate::Failed);
    info!("{}: {outcome} ({text})", claim.run);
}
