//! What happened, in a few words.

use ledger::{Action, Claim, Event};

fn of_claim(claim: &Claim) -> String {
    let Claim { partition, run, controller, size, .. } = claim;
    format!("{partition} of {size} on {} for {}r{}@{}", controller.host(), run.job, run.restart, run.start)
}

/// An event.
pub fn of_event(event: &Event) -> String {
    match event {
        Event::Models(models) => format!("Models {}", models.len()),
        Event::Inventory { pod, partitions, .. } => {
            format!("Inventory {}: {} partitions", pod.controller.host(), partitions.len())
        }
        Event::Unreachable { pod, reason } => format!("Unreachable {}: {reason}", pod.controller.host()),
        Event::Prepare(claim) => format!("Prepare {}", of_claim(claim)),
        Event::Begin(claim) => format!("Begin {}", of_claim(claim)),
        Event::Adopt(claim, found) => format!("Adopt {found:?} {}", of_claim(claim)),
        Event::Orphan(claim) => format!("Orphan {}", of_claim(claim)),
        Event::CreateFailed { partition, reason } => format!("CreateFailed {partition}: {reason}"),
        other => format!("{other:?}"),
    }
}

/// An action.
pub fn of_action(action: &Action) -> String {
    match action {
        Action::Create(claim) => format!("Create {}", claim.partition),
        Action::Keep(claim, until) => format!("Keep {} until {}", claim.partition, until.0),
        Action::Bind(claim) => format!("Bind {}", of_claim(claim)),
        Action::Remove(claim) => format!("Remove {}", claim.partition),
        Action::OpenLaunch(claim) => format!("OpenLaunch {}", claim.partition),
        Action::FailRun(claim, why) => format!("FailRun {}: {why}", claim.partition),
        Action::SendBack(claim, why) => format!("SendBack {}: {why}", claim.partition),
        Action::AwaitNodes(claim) => format!("AwaitNodes {}", claim.partition),
        Action::DropLaunch(claim) => format!("DropLaunch {}", claim.partition),
        Action::OpenCompletion { claim, launch_raised } => {
            format!("OpenCompletion {} {launch_raised}", claim.partition)
        }
        Action::Broken(claim, why) => format!("Broken {}: {why}", claim.partition),
        Action::Relocated(claim) => format!("Relocated {}", claim.partition),
        Action::Unclaimed { pod, seen } => {
            format!("Unclaimed {} on {}", seen.partition, pod.controller.host())
        }
        Action::Survey(pod) => format!("Survey {}", pod.controller.host()),
        other => format!("{other:?}"),
    }
}
