//! Partitions of failed jobs that stay for a while (`--ipu-keep`): who looks whether they still should.

use std::time::Duration;

use ledger::{Claim, Event, Seconds};
use slurm_host::locks::HostThread;
use tracing::info;

use crate::keep_and_requeue;
use crate::plugin::Plugin;

/// How often that is looked at.
const POLL: Duration = Duration::from_secs(1);

/// All of them, and until when each stays.
#[derive(Default)]
pub(crate) struct KeptPartitions(Vec<(Claim, Seconds)>);

impl KeptPartitions {
    /// Looks at this one, too.
    pub(crate) fn watch(&mut self, claim: Claim, until: Seconds) {
        self.0.push((claim, until));
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        if self.0.is_empty() { Duration::MAX } else { POLL }
    }

    /// Gives up what has stayed for long enough, and what is of a job that was requeued.
    pub(crate) fn look(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        self.0.retain(|(claim, _)| plugin.ledger().is_kept(claim));
        if self.0.is_empty() {
            return;
        }
        let kept = &self.0;
        // A job that ended long ago is forgotten.
        let has_ended: Vec<bool> = slurm.read(|seen| {
            let has_ended = |(claim, _): &(Claim, _)| seen(claim.run.job).is_none_or(|job| job.has_ended);
            kept.iter().map(has_ended).collect()
        });
        let now = keep_and_requeue::now();
        for ((claim, until), has_ended) in kept.iter().zip(has_ended) {
            let why = match has_ended {
                false => "its job was requeued",
                true if *until <= now => "its time is over (--ipu-keep)",
                true => continue,
            };
            info!("{}: partition {}, which was kept, is removed: {why}", claim.run, claim.partition);
            plugin.tell(Event::KeepOver(claim.partition.clone()));
        }
    }
}
