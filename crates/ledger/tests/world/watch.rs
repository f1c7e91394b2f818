//! What the world watches: that the ledger asks for what is right, and forgets nothing.

use ledger::{Action, Awaits, DriverAction, HostAction};
use vipu_types::{JobRun, PartitionId};

use super::World;

impl World {
    /// Takes on what the ledger wants done.
    pub(super) fn take_on(&mut self, action: Action) {
        match &action {
            Action::Driver(DriverAction::Create(claim)) => {
                assert_eq!(self.creates(&claim.partition), 0, "{action:?} beside another create");
                assert!(
                    self.asked.insert(claim.partition.clone()),
                    "{action:?} under an id that was used before"
                );
            }
            Action::Driver(DriverAction::Remove(claim)) => {
                assert_eq!(self.creates(&claim.partition), 0, "{action:?} overtakes its create");
            }
            Action::Driver(DriverAction::CancelCreate(id)) => {
                let create = self.pending.iter().find_map(|other| match other {
                    Action::Driver(DriverAction::Create(claim)) if claim.partition == *id => Some(claim.run),
                    _ => None,
                });
                assert!(self.cancelled.insert(create.expect("a create to cancel")), "cancelled twice");
                return;
            }
            Action::Host(HostAction::OpenLaunch(claim)) | Action::Host(HostAction::DropLaunch(claim)) => {
                self.run(claim).launch.1 += 1
            }
            Action::Host(HostAction::OpenCompletion { claim, launch_raised }) => {
                let run = self.run(claim);
                run.completion.1 += 1;
                run.launch.1 += u32::from(*launch_raised);
            }
            Action::Driver(DriverAction::Bind(claim)) => {
                let early = self.ledger.holder(&claim.partition);
                assert_eq!(early.map(|early| early.run), Some(claim.run), "{action:?} of another's");
            }
            Action::Driver(DriverAction::Unclaimed { seen, .. }) => {
                assert!(self.ledger.holder(&seen.partition).is_none(), "{action:?} of a claim");
            }
            _ => {}
        }
        let has_no_answer = matches!(
            action,
            Action::Host(HostAction::DropLaunch(_))
                | Action::Host(HostAction::OpenCompletion { .. })
                | Action::Host(HostAction::KickScheduler)
                | Action::Driver(DriverAction::Unclaimed { .. })
                | Action::Host(HostAction::Broken(..))
                | Action::Driver(DriverAction::Refresh(_))
                | Action::Host(HostAction::TellRelocated(_) | HostAction::EndKeep(..))
                | Action::Driver(DriverAction::Bind(_))
        );
        if !has_no_answer {
            self.pending.push(action);
        }
    }

    /// Every claim waits for something that comes, and nothing under way is forgotten.
    pub(super) fn check_progress(&self, told: &str) {
        let mut awaited = 0;
        for view in self.ledger.view().claims {
            let (awaits, run) = (view.phase.awaits(), view.claim.run);
            match awaits {
                Awaits::JobStart => {
                    assert!(!self.runs[&run].1.alive, "{run} has begun, but is Prepared after {told}")
                }
                Awaits::KeepEnd => {
                    assert!(!self.runs[&run].1.alive, "{run} runs, but is Kept after {told}")
                }
                Awaits::JobEnd => {
                    assert!(self.runs[&run].1.alive, "{run} ended, but is Running after {told}")
                }
                _ => {
                    let comes = self.under_way(|action| answers(action) == Some((awaits, run)));
                    assert_eq!(comes, 1, "{run} waits for {awaits:?} after {told}");
                }
            }
            awaited += u32::from(matches!(awaits, Awaits::Create | Awaits::Nodes | Awaits::Removal));
        }
        let partition_work = [Awaits::Create, Awaits::Nodes, Awaits::Removal];
        let working =
            self.under_way(|action| answers(action).is_some_and(|(what, _)| partition_work.contains(&what)));
        assert_eq!(working, awaited, "work that no claim waits for after {told}");
    }

    fn creates(&self, id: &PartitionId) -> u32 {
        self.under_way(
            |action| matches!(action, Action::Driver(DriverAction::Create(claim)) if claim.partition == *id),
        )
    }

    pub(super) fn under_way(&self, which: impl Fn(&Action) -> bool) -> u32 {
        self.pending.iter().filter(|action| which(action)).count() as u32
    }
}

/// Who waits for the answer of an action, and in which phase.
pub(super) fn answers(action: &Action) -> Option<(Awaits, JobRun)> {
    match action {
        Action::Driver(DriverAction::Create(claim)) => Some((Awaits::Create, claim.run)),
        Action::Host(HostAction::OpenLaunch(claim)) => Some((Awaits::Launch, claim.run)),
        Action::Host(HostAction::FailRun(claim, _)) | Action::Host(HostAction::SendBack(claim, _)) => {
            Some((Awaits::RunFailed, claim.run))
        }
        Action::Driver(DriverAction::Keep(claim, _)) => Some((Awaits::Record, claim.run)),
        Action::Host(HostAction::AwaitNodes(claim)) => Some((Awaits::Nodes, claim.run)),
        Action::Driver(DriverAction::Remove(claim)) => Some((Awaits::Removal, claim.run)),
        _ => None,
    }
}

/// The partition that an action is for; none for a survey.
pub(super) fn partition_of(action: &Action) -> Option<PartitionId> {
    match action {
        Action::Driver(DriverAction::Create(claim))
        | Action::Driver(DriverAction::Remove(claim))
        | Action::Host(HostAction::OpenLaunch(claim))
        | Action::Host(HostAction::FailRun(claim, _))
        | Action::Host(HostAction::SendBack(claim, _))
        | Action::Driver(DriverAction::Keep(claim, _))
        | Action::Host(HostAction::AwaitNodes(claim)) => Some(claim.partition.clone()),
        _ => None,
    }
}
