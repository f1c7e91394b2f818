//! The transitions of a claim from one phase to the next.

use vipu_types::Words;

use crate::{Action, Claim, DriverAction, Ending, Gates, HostAction, Making, Phase, Seconds, Step};

/// A signal to one claim.
pub(crate) enum Signal {
    /// [`crate::Event::CreateStarted`]
    CreateStarted,
    /// [`crate::Event::Up`]
    Up,
    /// [`crate::Event::CreateFailed`], [`crate::Event::CreatePutOff`]
    CreateFailed {
        /// The reason.
        reason: Words,
        /// The failure says nothing about the job, for example because the controller answers no job. The job
        /// goes back into the line.
        may_wait: bool,
    },
    /// [`crate::Event::CreateCancelled`]
    CreateCancelled,
    /// The partition has no room, and will have none soon.
    Hopeless(Words),
    /// [`crate::Event::Launched`]
    Launched,
    /// [`crate::Event::RunVanished`]
    RunVanished,
    /// [`crate::Event::Fini`], or the job has a newer run.
    Ended(Ending),
    /// [`crate::Event::Failed`]
    Failed(Ending, Seconds),
    /// [`crate::Event::KeepRecorded`]
    KeepRecorded,
    /// [`crate::Event::KeepOver`], or the partition is gone, or its job runs again.
    KeepOver,
    /// [`crate::Event::Freed`]
    Freed,
    /// [`crate::Event::NodesDone`], [`crate::Event::NodesUnknown`]
    NodesDone(AfterRun),
    /// [`crate::Event::Idle`]
    Idle,
    /// [`crate::Event::NotIdle`]
    NotIdle,
    /// The time of an idle partition is over, or its IPUs are needed.
    IdleOver,
    /// [`crate::Event::Overdue`]
    Overdue,
    /// [`crate::Event::Gone`]
    Gone,
}

/// What becomes of the partition of an ended run.
pub(crate) enum AfterRun {
    /// It is removed.
    Removal,
    /// It stays idle.
    Idle {
        /// Whether it is reset for that.
        reset: bool,
    },
}

/// The result of a signal.
pub(crate) struct Transition {
    /// The next phase. None if the claim is over.
    pub(crate) next: Option<Phase>,
    /// The actions, in order.
    pub(crate) actions: Vec<Action>,
}

impl Transition {
    fn to(next: Phase, actions: impl Into<Vec<Action>>) -> Self {
        Self { next: Some(next), actions: actions.into() }
    }
}

impl Phase {
    /// The transition for a signal. None if the signal does not concern this phase, as a late or repeated
    /// answer.
    pub(crate) fn on(&self, signal: Signal, claim: &Claim) -> Option<Transition> {
        let transition = match (self, signal) {
            (Phase::Preparing(making), signal) => return making.on(signal, claim),
            (Phase::Claimed, Signal::CreateStarted) => Transition::to(Phase::Creating, []),
            (Phase::Claimed | Phase::Creating, Signal::Hopeless(reason)) => {
                let cancel = Action::Driver(DriverAction::CancelCreate(claim.partition.clone()));
                Transition::to(Phase::GivenUp { reason }, [cancel])
            }
            (Phase::GivenUp { reason }, Signal::CreateFailed { .. } | Signal::CreateCancelled) => {
                failed(HostAction::SendBack, claim, reason.clone())
            }
            (Phase::Claimed | Phase::Creating, Signal::CreateFailed { reason, may_wait: true }) => {
                failed(HostAction::SendBack, claim, reason)
            }
            (Phase::Claimed | Phase::Creating | Phase::GivenUp { .. }, Signal::Up) => Transition::to(
                Phase::Ready,
                [Action::Host(HostAction::OpenLaunch(claim.clone())), survey(claim)],
            ),
            (Phase::Claimed | Phase::Creating, Signal::CreateFailed { reason, .. }) => {
                failed(HostAction::FailRun, claim, reason)
            }
            (Phase::Claimed | Phase::Creating, Signal::CreateCancelled) => {
                failed(HostAction::FailRun, claim, "the partition's creation was given up".into())
            }
            (Phase::Ready, Signal::Launched) => Transition::to(Phase::Running, []),
            (Phase::Ready | Phase::Failed { .. }, Signal::RunVanished) => self.ended(claim, Ending::Unheld),
            (Phase::Running, Signal::Failed(ending, until)) => Transition::to(
                Phase::Keeping { until, gates: self.gates(ending) },
                [
                    Action::Driver(DriverAction::Keep(claim.clone(), until)),
                    Action::Host(HostAction::EndKeep(claim.clone(), until)),
                ],
            ),
            (_, Signal::Ended(ending) | Signal::Failed(ending, _)) if self.is_live() => {
                self.ended(claim, ending)
            }
            (Phase::Keeping { until, gates }, Signal::KeepRecorded) => {
                Transition::to(Phase::Kept { until: *until }, complete(claim, *gates))
            }
            (Phase::Keeping { until, gates }, Signal::Overdue) => {
                let next = Phase::Keeping { until: *until, gates: Gates::Open };
                Transition::to(next, complete(claim, *gates))
            }
            (Phase::Keeping { gates, .. }, Signal::KeepOver | Signal::Ended(_)) => release(claim, *gates),
            (Phase::Kept { .. }, Signal::KeepOver | Signal::Ended(_)) => release(claim, Gates::Open),
            (Phase::Keeping { gates, .. }, Signal::Freed) => remove(claim, *gates),
            (Phase::Kept { .. } | Phase::Idle { .. }, Signal::Freed) => remove(claim, Gates::Open),
            (Phase::Idle { .. }, Signal::IdleOver) => remove(claim, Gates::Open),
            (Phase::Releasing { step, gates }, signal) => return step.on(signal, *gates, claim),
            _ => return None,
        };
        Some(transition)
    }

    /// The raised gates of a run that ends in this live phase. A launch gate alone is not among them.
    fn gates(&self, ending: Ending) -> Gates {
        match (ending, self.launch_raised()) {
            (Ending::Unheld, _) => Gates::Open,
            (Ending::Held, false) => Gates::Completion,
            (Ending::Held, true) => Gates::Both,
        }
    }

    /// The transition when the run of this live phase has ended.
    fn ended(&self, claim: &Claim, ending: Ending) -> Transition {
        let gates = self.gates(ending);
        let mut actions = Vec::new();
        if ending == Ending::Unheld && self.launch_raised() {
            actions.push(Action::Host(HostAction::DropLaunch(claim.clone())));
        }
        let step = match self {
            Phase::Claimed | Phase::Creating | Phase::Preparing(_) => {
                actions.push(Action::Driver(DriverAction::CancelCreate(claim.partition.clone())));
                Step::CreateAnswer
            }
            Phase::GivenUp { .. } => Step::CreateAnswer,
            _ => {
                actions.push(Action::Host(HostAction::AwaitNodes(claim.clone())));
                Step::Nodes
            }
        };
        Transition::to(Phase::Releasing { step, gates }, actions)
    }
}

impl Making {
    fn on(self, signal: Signal, claim: &Claim) -> Option<Transition> {
        let transition = match (self, signal) {
            (Self::Claimed, Signal::CreateStarted) => Transition::to(Phase::Preparing(Self::Creating), []),
            (_, Signal::Up) => {
                Transition::to(Phase::Prepared, [Action::Host(HostAction::KickScheduler), survey(claim)])
            }
            (_, Signal::CreateFailed { .. } | Signal::CreateCancelled) => {
                let mut transition = release(claim, Gates::Open);
                transition.actions.push(survey(claim));
                transition
            }
            // The job has no nodes, and waits like others.
            (_, Signal::Hopeless(_)) => Phase::Preparing(self).ended(claim, Ending::Unheld),
            (_, Signal::Ended(ending) | Signal::Failed(ending, _)) => {
                Phase::Preparing(self).ended(claim, ending)
            }
            _ => return None,
        };
        Some(transition)
    }
}

impl Step {
    fn on(self, signal: Signal, gates: Gates, claim: &Claim) -> Option<Transition> {
        let transition = match (self, signal) {
            (step, Signal::Overdue) if gates != Gates::Open => {
                let next = Phase::Releasing { step, gates: Gates::Open };
                Transition::to(next, complete(claim, gates))
            }
            (Step::CreateAnswer, Signal::Up | Signal::CreateFailed { .. } | Signal::CreateCancelled) => {
                release(claim, gates)
            }
            (Step::Nodes, Signal::NodesDone(AfterRun::Idle { reset })) => {
                let next = Phase::Releasing { step: Step::MakeIdle { reset }, gates };
                Transition::to(next, [Action::Driver(DriverAction::MakeIdle { claim: claim.clone(), reset })])
            }
            (Step::Nodes, Signal::NodesDone(AfterRun::Removal)) => remove(claim, gates),
            (Step::MakeIdle { reset: is_reset }, Signal::Idle) => {
                let mut actions = complete(claim, gates);
                actions.push(Action::Host(HostAction::KickScheduler));
                Transition::to(Phase::Idle { is_reset }, actions)
            }
            (Step::MakeIdle { .. }, Signal::NotIdle) => remove(claim, gates),
            (Step::Removal, Signal::Gone) => {
                let mut actions = complete(claim, gates);
                actions.extend([Action::Host(HostAction::KickScheduler), survey(claim)]);
                Transition { next: None, actions }
            }
            _ => return None,
        };
        Some(transition)
    }
}

/// Ends the run by this action: its job fails, or waits in line again.
fn failed(end: fn(Claim, Words) -> HostAction, claim: &Claim, reason: Words) -> Transition {
    let actions = [Action::Host(end(claim.clone(), reason.clone())), survey(claim)];
    Transition::to(Phase::Failed { reason }, actions)
}

/// Opens the raised gates. Empty if none is raised.
fn complete(claim: &Claim, gates: Gates) -> Vec<Action> {
    let launch_raised = gates == Gates::Both;
    let open = (gates != Gates::Open)
        .then(|| Action::Host(HostAction::OpenCompletion { claim: claim.clone(), launch_raised }));
    open.into_iter().collect()
}

/// Releases a partition that exists.
fn release(claim: &Claim, gates: Gates) -> Transition {
    Transition::to(
        Phase::Releasing { step: Step::Nodes, gates },
        [Action::Host(HostAction::AwaitNodes(claim.clone()))],
    )
}

/// Removes a partition that no node uses any more.
fn remove(claim: &Claim, gates: Gates) -> Transition {
    let next = Phase::Releasing { step: Step::Removal, gates };
    Transition::to(next, [Action::Driver(DriverAction::Remove(claim.clone()))])
}

fn survey(claim: &Claim) -> Action {
    Action::Driver(DriverAction::Survey(claim.pod()))
}
