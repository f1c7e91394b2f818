//! Jobs and partitions of an earlier slurmctld.

use vipu_types::words;

use crate::{Action, AdoptedAs, Claim, DriverAction, Gates, HostAction, Launch, Ledger, Millis, Phase, Step};

impl Ledger {
    /// Takes over a job of an earlier slurmctld.
    pub(crate) fn adopt(&mut self, now: Millis, claim: Claim, found: AdoptedAs, todo: &mut Vec<Action>) {
        if self.is_of_another(&claim, found) {
            return refuse_adoption(claim, found, todo);
        }
        if self.holder(&claim.partition).is_some_and(|holder| holder.run.job == claim.run.job) {
            return;
        }
        self.settle_shared_id(now, &claim, todo);
        match found {
            AdoptedAs::Starting => self.begin(now, claim, Launch::ByGate, todo),
            AdoptedAs::Running => {
                self.end_earlier(now, &claim, todo);
                self.add(now, claim, Phase::Running);
            }
            AdoptedAs::Ending => self.release(now, claim, Gates::Completion, todo),
            AdoptedAs::Kept(until) => {
                self.add(now, claim.clone(), Phase::Keeping { until, gates: Gates::Open });
                todo.push(Action::Driver(DriverAction::Keep(claim.clone(), until)));
                todo.push(Action::Host(HostAction::EndKeep(claim, until)));
            }
        }
    }

    /// Takes over a partition of an earlier slurmctld that has no run any more.
    pub(crate) fn adopt_orphan(&mut self, now: Millis, claim: Claim, todo: &mut Vec<Action>) {
        if self.holder(&claim.partition).is_none() {
            self.release(now, claim, Gates::Open, todo);
        }
    }

    fn release(&mut self, now: Millis, claim: Claim, gates: Gates, todo: &mut Vec<Action>) {
        self.add(now, claim.clone(), Phase::Releasing { step: Step::Nodes, gates });
        todo.push(Action::Host(HostAction::AwaitNodes(claim)));
    }

    /// Whether another job has the partition of this adopted claim. An earlier slurmctld can have given the
    /// partition of a job that was COMPLETING to another job just before it ended.
    pub fn is_of_another(&self, claim: &Claim, found: AdoptedAs) -> bool {
        let Some((_, holder)) = self.claims.holder(&claim.partition) else { return false };
        let is_later = holder.claim.run.start > claim.run.start;
        holder.claim.run.job != claim.run.job
            && match (holder.phase.is_live(), found) {
                (true, AdoptedAs::Ending) => true,
                (false, AdoptedAs::Ending) | (true, _) => is_later,
                (false, _) => false,
            }
    }

    /// Takes a partition from a run whose partition another adopted job has. The gates of the run are opened. If Slurm has
    /// it as not launched yet, its saved state is older than the journal, and the run goes back into the line.
    pub(crate) fn settle_shared_id(&mut self, now: Millis, claim: &Claim, todo: &mut Vec<Action>) {
        let Some((serial, holder)) = self.claims.holder(&claim.partition) else { return };
        if holder.phase.launch_raised() {
            let (partition, claim) = (holder.claim.partition.clone(), holder.claim.clone());
            let reason = words!("partition {partition} is another job's by now");
            todo.push(Action::Driver(DriverAction::CancelCreate(partition)));
            todo.push(Action::Host(HostAction::SendBack(claim, reason)));
        }
        if holder.phase.completion_raised() {
            let claim = holder.claim.clone();
            todo.push(Action::Host(HostAction::OpenCompletion { claim, launch_raised: false }));
        }
        self.take_out(now, serial);
    }
}

/// Opens the gates of a run whose partition another job has.
fn refuse_adoption(claim: Claim, found: AdoptedAs, todo: &mut Vec<Action>) {
    match found {
        AdoptedAs::Ending => {
            todo.push(Action::Host(HostAction::OpenCompletion { claim, launch_raised: false }));
        }
        AdoptedAs::Starting => {
            let reason = words!("partition {} is another job's by now", claim.partition);
            todo.push(Action::Host(HostAction::SendBack(claim, reason)));
        }
        AdoptedAs::Running | AdoptedAs::Kept(_) => {}
    }
}
