//! Events and actions in a few words.

use ledger::{Action, Claim, DriverAction, Event, HostAction};

fn of_claim(claim: &Claim) -> String {
    let Claim { partition, run, controller, size, .. } = claim;
    format!("{partition} of {size} on {} for {}r{}@{}", controller.host(), run.job, run.restart, run.start)
}

/// Returns an event in words.
pub fn of_event(event: &Event) -> String {
    match event {
        Event::Models(models) => format!("Models {}", models.len()),
        Event::Inventory { pod, partitions, .. } => {
            format!("Inventory {}: {} partitions", pod.controller.host(), partitions.len())
        }
        Event::Unreachable { pod, reason } => format!("Unreachable {}: {reason}", pod.controller.host()),
        Event::Prepare(claim) => format!("Prepare {}", of_claim(claim)),
        Event::Begin(claim, _) => format!("Begin {}", of_claim(claim)),
        Event::Adopt(claim, found) => format!("Adopt {found:?} {}", of_claim(claim)),
        Event::Orphan(claim) => format!("Orphan {}", of_claim(claim)),
        Event::CreateFailed { partition, reason } => format!("CreateFailed {partition}: {reason}"),
        other => format!("{other:?}"),
    }
}

/// Returns an action in words.
pub fn of_action(action: &Action) -> String {
    match action {
        Action::Driver(DriverAction::Create(claim)) => format!("Create {}", claim.partition),
        Action::Driver(DriverAction::CreateAfter(claim, before)) => {
            format!("Create {} after {before:?}", claim.partition)
        }
        Action::Driver(DriverAction::Reuse { claim, reset, .. }) => {
            format!("Reuse {}{}", of_claim(claim), if *reset { ", reset" } else { "" })
        }
        Action::Driver(DriverAction::MakeIdle { claim, reset }) => {
            format!("MakeIdle {}{}", claim.partition, if *reset { ", reset" } else { "" })
        }
        Action::Driver(DriverAction::Keep(claim, until)) => {
            format!("Keep {} until {}", claim.partition, until.0)
        }
        Action::Driver(DriverAction::Withhold(claim, left)) => {
            format!("Withhold {} for {} s", claim.partition, left.as_secs())
        }
        Action::Driver(DriverAction::Bind(claim)) => format!("Bind {}", of_claim(claim)),
        Action::Driver(DriverAction::Remove(claim)) => format!("Remove {}", claim.partition),
        Action::Host(HostAction::OpenLaunch(claim)) => format!("OpenLaunch {}", claim.partition),
        Action::Host(HostAction::FailRun(claim, why)) => format!("FailRun {}: {why}", claim.partition),
        Action::Host(HostAction::SendBack(claim, why)) => format!("SendBack {}: {why}", claim.partition),
        Action::Host(HostAction::AwaitNodes(claim)) => format!("AwaitNodes {}", claim.partition),
        Action::Host(HostAction::DropLaunch(claim)) => format!("DropLaunch {}", claim.partition),
        Action::Host(HostAction::OpenCompletion { claim, launch_raised }) => {
            format!("OpenCompletion {} {launch_raised}", claim.partition)
        }
        Action::Host(HostAction::Broken(claim, why)) => format!("Broken {}: {why}", claim.partition),
        Action::Host(HostAction::TellRelocated(claim)) => format!("Relocated {}", claim.partition),
        Action::Driver(DriverAction::Unclaimed { pod, seen }) => {
            format!("Unclaimed {} on {}", seen.partition, pod.controller.host())
        }
        Action::Driver(DriverAction::Survey(pod)) => format!("Survey {}", pod.controller.host()),
        other => format!("{other:?}"),
    }
}
