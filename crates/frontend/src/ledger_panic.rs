//! The run that an event concerns: it must not wait in vain if the ledger fails on the event.

use std::fmt;

use ledger::{Action, AdoptedAs, Claim, ClaimView, Ending, Event, Gates, HostAction, Ledger, Phase};
use vipu_types::PartitionId;

use crate::internal_error::INTERNAL;
use crate::internal_error::guard;

/// The run or the partition that an event concerns.
pub(crate) enum About {
    /// The run of a job that begins. job_begin itself undoes the beginning.
    Begin(u32),
    /// A run of an earlier slurmctld.
    Adopted(Claim, AdoptedAs),
    /// The run of a job that ends.
    End(u32, Ending),
    /// The run whose partition is up.
    Up(PartitionId),
    /// The run that has this partition.
    Holder(PartitionId),
    /// No run in particular.
    All,
}

impl About {
    pub(crate) fn of(event: &Event) -> Self {
        match event {
            Event::Begin(claim, _) => Self::Begin(claim.run.job),
            Event::Adopt(claim, found) => Self::Adopted(claim.clone(), *found),
            Event::Fini { job, ending } => Self::End(*job, *ending),
            Event::Failed { job, ending, .. } => Self::End(*job, *ending),
            Event::Up(id) => Self::Up(id.clone()),
            Event::CreateStarted(id)
            | Event::CreateFailed { partition: id, .. }
            | Event::CreatePutOff { partition: id, .. }
            | Event::NoRoom(id)
            | Event::CreateCancelled(id)
            | Event::Launched(id)
            | Event::KeepRecorded(id)
            | Event::KeepOver(id)
            | Event::Freed(id)
            | Event::RunVanished(id)
            | Event::NodesDone(id)
            | Event::NodesUnknown(id)
            | Event::Idle(id)
            | Event::NotIdle(id)
            | Event::Overdue(id)
            | Event::Gone(id) => Self::Holder(id.clone()),
            Event::Prepare(_)
            | Event::Forgo { .. }
            | Event::Drain(_)
            | Event::Resume(_)
            | Event::Orphan(_)
            | Event::Withheld { .. }
            | Event::Models(_)
            | Event::Pool { .. }
            | Event::BrokenIpus { .. }
            | Event::UnclaimedGone { .. }
            | Event::Inventory { .. }
            | Event::Unreachable { .. }
            | Event::Trouble { .. }
            | Event::Refuses { .. } => Self::All,
        }
    }

    /// The actions that release the run after the ledger has failed. A job that has not started ends, and a
    /// job that has ended leaves COMPLETING. The partition and the claim stay, for the next slurmctld to
    /// settle.
    pub(crate) fn let_go(&self, ledger: &Ledger) -> Vec<Action> {
        match self {
            Self::Adopted(claim, AdoptedAs::Starting) => {
                vec![Action::Host(HostAction::FailRun(claim.clone(), INTERNAL.into()))]
            }
            Self::Adopted(claim, AdoptedAs::Ending) => {
                vec![Action::Host(HostAction::OpenCompletion { claim: claim.clone(), launch_raised: false })]
            }
            Self::End(..) | Self::Up(_) | Self::Holder(_) => {
                let claims = guard(&|| format!("claims of {self}"), vec![], || ledger.view().claims);
                claims.into_iter().filter_map(|claim| self.opened(claim)).collect()
            }
            Self::Begin(_) | Self::Adopted(..) | Self::All => vec![],
        }
    }

    /// The action that opens the gates of this claim, if the event concerns the claim. The ledger may have
    /// stopped anywhere in its change.
    fn opened(&self, ClaimView { claim, phase, .. }: ClaimView) -> Option<Action> {
        let complete =
            |claim, launch_raised| Action::Host(HostAction::OpenCompletion { claim, launch_raised });
        match (self, &phase) {
            (Self::End(job, Ending::Held), _) if claim.run.job == *job => {
                Some(complete(claim, phase.launch_raised()))
            }
            (Self::Up(id), Phase::Ready) if claim.partition == *id => {
                Some(Action::Host(HostAction::OpenLaunch(claim)))
            }
            (
                Self::Up(id) | Self::Holder(id),
                Phase::Keeping { gates, .. } | Phase::Releasing { gates, .. },
            ) if claim.partition == *id => {
                (*gates != Gates::Open).then(|| complete(claim, *gates == Gates::Both))
            }
            (Self::Up(id) | Self::Holder(id), _) if claim.partition == *id && phase.launch_raised() => {
                Some(Action::Host(HostAction::FailRun(claim, INTERNAL.into())))
            }
            _ => None,
        }
    }
}

/// The text for the error line of a panic. Its first word names a failpoint.
impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(job) => write!(f, "told_begin of job {job}"),
            Self::Adopted(claim, _) => write!(f, "told_found of {}", claim.run),
            Self::End(job, _) => write!(f, "told_end of job {job}"),
            Self::Up(id) => write!(f, "told_up of partition {id}"),
            Self::Holder(id) => write!(f, "told_progress of partition {id}"),
            Self::All => f.write_str("told_news"),
        }
    }
}
