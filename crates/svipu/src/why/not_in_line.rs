//! A job that waits for something else than IPUs.

use std::time::Duration;

use vipu_status::WaitingJob;
use vipu_types::IpuCount;

use super::sentence::{Answer, Sentence};
use super::waiting::{Waiting, forecast};
use super::{limits, reason, stops, wants};
use crate::view::View;
use crate::{names, reservations, safe};

/// What the job waits for, as far as Slurm's reason tells it.
pub(super) fn answer(view: &View<'_>, row: &WaitingJob) -> Answer {
    let job = names::job(row.job.as_deref());
    let summary =
        format!("{}, but is not in line for them: it waits for something else first.", wants(view, row));
    let known = row.reason.as_deref().and_then(Cause::of);
    let mut causes: Vec<_> = reason(row).into_iter().collect();
    causes.extend(known.as_ref().map(|it| Sentence::new("slurm", it.text.to_owned())));
    let user = safe::cut(&view.user(row.job.as_deref()), 30);
    let advice = known.iter().filter_map(|it| it.advice(&job, &user)).collect();
    match view.all.models.iter().find(|model| *model.name == *row.model) {
        None => causes.push(stops::no_model(view, row)),
        Some(model) => {
            let waiting = Waiting::new(view, row, model);
            causes.extend(stops::causes(view, model, waiting.now));
            causes.extend(limits::causes(&waiting));
            if row.reason.as_deref() == Some("Licenses") && !row.rank.in_reservation {
                let end = waiting.now.saturating_add_unsigned(row.duration);
                let reserved = reservations::sentences(view, model, end).into_iter();
                causes.extend(reserved.map(|text| Sentence::new("reservation", text)));
            }
            causes.extend(later(&waiting));
        }
    }
    Answer { job, summary, causes, advice }
}

/// The time at which the job could have its IPUs, if nothing else kept it.
fn later(waiting: &Waiting<'_>) -> Option<Sentence> {
    let size = IpuCount::new(waiting.row.size.into()).ok()?;
    let forecast = forecast(waiting.view, waiting.model, waiting.now)?;
    let start = forecast.new_job(size, Duration::from_secs(waiting.row.duration))?;
    let at = start.time(waiting.now)?;
    let text = format!(
        "At the end of the line, a job of this size and time limit could have its IPUs {}.",
        waiting.view.moment(at)
    );
    Some(Sentence::new("if_in_line", text))
}

const LIMITS: Option<&str> =
    Some("The limits and their use: svipu limits USER; the job: scontrol show job JOB");

/// A reason of Slurm (`squeue`, JOB REASON CODES), in a sentence.
struct Cause {
    text: &'static str,
    /// Commands that help. JOB and USER stand for the names.
    help: Option<&'static str>,
}

impl Cause {
    /// The reasons by the beginning of their names.
    const ALL: &[(&str, &str, Option<&str>)] = &[
        ("JobHeldUser", "Its user holds it.", Some("It waits in line after: scontrol release JOB")),
        (
            "JobHeldAdmin",
            "An administrator holds it, or Slurm after a failure. Only an administrator can release it.",
            Some("An administrator lets it wait in line again with: scontrol release JOB"),
        ),
        (
            "DependencyNeverSatisfied",
            "It waits for another job that has ended otherwise than it needs: it can never start.",
            Some("It goes away with: scancel JOB"),
        ),
        (
            "Dependency",
            "It waits for other jobs.",
            Some("The jobs that it waits for: squeue -O Dependency -j JOB"),
        ),
        (
            "BeginTime",
            "It may not begin yet: the time of --begin is still to come, or it was requeued a moment ago.",
            Some("The time is EligibleTime in: scontrol show job JOB"),
        ),
        ("AccountNotAllowed", "Its Slurm partition does not allow its account.", None),
        ("QOSNotAllowed", "Its Slurm partition or account does not allow its QOS.", None),
        ("Assoc", "A limit of its account or user is reached.", LIMITS),
        ("QOS", "A limit of its QOS is reached.", LIMITS),
        ("MaxGRESPerAccount", "A limit of its QOS for its account is reached.", LIMITS),
        ("MaxLicensePerAccount", "A limit of its QOS for its account is reached.", LIMITS),
        ("JobArrayTaskLimit", "As many tasks of its array run as may run at one time (% in --array).", None),
        (
            "Partition",
            "Its Slurm partition is down, or the job exceeds a limit of its Slurm partition.",
            Some("The Slurm partition is Partition in: scontrol show job JOB"),
        ),
        ("ReqNodeNotAvail", "Nodes that it needs are down, drained or reserved.", None),
        ("ReservationDeleted", "Its advance reservation was deleted.", None),
        ("ReservationInvalid", "Its advance reservation is not valid.", None),
        ("Reservation", "Its advance reservation has not begun.", None),
        ("Licenses", "It waits for licences.", None),
        ("Priority", "Slurm has not come to it yet: other jobs have higher priorities.", None),
        ("Resources", "It waits for nodes.", None),
    ];

    fn of(reason: &str) -> Option<Self> {
        let is_meant = |(name, _, _): &&(&str, &str, _)| reason.starts_with(name);
        let (_, text, help) = Self::ALL.iter().find(is_meant)?;
        Some(Self { text, help: *help })
    }

    fn advice(&self, job: &str, user: &str) -> Option<Sentence> {
        Some(Sentence::new("slurm", self.help?.replace("JOB", job).replace("USER", user)))
    }
}
