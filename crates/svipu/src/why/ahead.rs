//! The jobs before this one in line.

use vipu_forecast::ModelForecast;
use vipu_status::{Rank, WaitingJob};

use super::sentence::Sentence;
use super::waiting::Waiting;
use crate::names;

/// The jobs of one kind that are named.
const MOST_NAMED: usize = 3;

/// What puts a job before another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Reservation,
    Tier,
    Priority,
    Age,
}

impl Before {
    const ALL: [Self; 4] = [Self::Reservation, Self::Tier, Self::Priority, Self::Age];

    fn of(first: Rank, second: Rank) -> Self {
        if first.in_reservation != second.in_reservation {
            Self::Reservation
        } else if first.tier != second.tier {
            Self::Tier
        } else if first.priority != second.priority {
            Self::Priority
        } else {
            Self::Age
        }
    }

    /// The kind of the cause, and the words behind the name of the job.
    fn words(self, first: Rank, second: Rank) -> (&'static str, String, String) {
        let Rank { tier, priority, .. } = second;
        match self {
            Self::Reservation => {
                ("reservation", String::new(), "jobs with an advance reservation come first".to_owned())
            }
            Self::Tier => (
                "tier",
                format!(", PriorityTier {}", first.tier),
                format!("the PriorityTier of the Slurm partition is higher than {tier}"),
            ),
            Self::Priority => (
                "priority",
                format!(", priority {}", first.priority),
                format!("the priority is higher than {priority}"),
            ),
            Self::Age => (
                "age",
                String::new(),
                format!("the priority, {priority}, is the same, and older jobs come first"),
            ),
        }
    }
}

/// The jobs before this one by what puts them there, and the job behind which it has to start.
pub(super) fn causes(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let mut causes: Vec<_> = Before::ALL.into_iter().filter_map(|before| group(waiting, before)).collect();
    let behind = waiting.row.behind.and_then(|key| waiting.ahead.iter().find(|other| other.key == key));
    causes.extend(behind.map(|first| plan(waiting, first)));
    if waiting.is_far_back() {
        let text = format!(
            "{} jobs are ahead of it in line. Only the first {} have a plan, so that the others may still delay it.",
            waiting.ahead.len(),
            ModelForecast::PLANS
        );
        causes.push(Sentence::new("far_back", text));
    }
    causes
}

fn group(waiting: &Waiting<'_>, before: Before) -> Option<Sentence> {
    let rank = waiting.row.rank;
    let jobs: Vec<_> = waiting.ahead.iter().filter(|other| Before::of(other.rank, rank) == before).collect();
    let first = jobs.first()?;
    let (kind, _, why) = before.words(first.rank, rank);
    let name = |other: &&&WaitingJob| {
        let (_, detail, _) = before.words(other.rank, rank);
        format!("{} ({}{detail})", waiting.view.owner(other.job.as_deref()), names::ipus(other.size))
    };
    let mut named: Vec<_> = jobs.iter().take(MOST_NAMED).map(name).collect();
    if jobs.len() > MOST_NAMED {
        named.push(format!("{} more", jobs.len() - MOST_NAMED));
    }
    Some(Sentence::new(kind, format!("Ahead of it in line, because {why}: {}.", named.join(", "))))
}

/// The plan that the job must not delay.
fn plan(waiting: &Waiting<'_>, first: &WaitingJob) -> Sentence {
    let owner = waiting.view.owner(first.job.as_deref());
    let at =
        first.start.map(|at| format!(", which is planned {}", waiting.view.moment(at))).unwrap_or_default();
    let text = format!(
        "It has to wait for the start of {owner}{at}: before that it might get IPUs that this plan needs."
    );
    Sentence::new("plan", text)
}
