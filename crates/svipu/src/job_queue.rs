//! `svipu queue`: the jobs that wait for IPUs, and those of one user that wait for something else first.

use vipu_status::{Rank, WaitingJob};

use crate::error::Failure;
use crate::names;
use crate::table::{self, Column, Usual};
use crate::times;
use crate::view::{Part, View};

type Of = Column<WaitingJob>;

/// The columns.
pub(crate) const COLUMNS: &[Column<WaitingJob>] = &[
    Of::new("job", "JOB", 24, |row, _| names::job(row.job.as_deref())),
    Of::new("name", "NAME", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.name.as_deref()))
    })
    .only(Usual::OnDemand),
    Of::new("user", "USER", 16, |row, view| view.user(row.job.as_deref())),
    Of::new("slurm_partition", "SLURM_PARTITION", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.slurm_partition.as_deref()))
    })
    .only(Usual::OnDemand),
    Of::new("model", "MODEL", 16, |row, _| row.model.to_string()).only(Usual::IfRoom),
    Of::new("size", "IPUS", 10, |row, _| row.size.to_string()).on_the_right(),
    Of::new("tasks", "TASKS", 10, |row, _| row.tasks.to_string()).on_the_right().only(Usual::OnDemand),
    Of::new("time", "TIME_LIMIT", 16, |row, _| times::limit(row.duration)).on_the_right(),
    Of::new("tier", "TIER", 6, |row, _| row.rank.tier.to_string()).on_the_right().only(Usual::OnDemand),
    Of::new("priority", "PRIORITY", 10, |row, _| names::or_dash(priority(row.rank).as_deref()))
        .on_the_right()
        .only(Usual::IfTold),
    Of::new("not_before", "NOT_BEFORE", 19, |row, view| view.time(row.not_before)).only(Usual::OnDemand),
    Of::new("start", "START", 19, |row, view| view.time_if_known(row.start)),
    Of::new("place", "PLACE", 40, |row, _| place(row)).only(Usual::OnDemand),
    Of::new("reason", "REASON", 200, |row, _| names::or_dash(row.reason.as_deref())),
];

/// The page of the command.
pub(crate) fn show(view: &View<'_>) -> Result<String, Failure> {
    let line: Vec<_> = view.chosen.line.iter().collect();
    // The whole cluster may have thousands of them.
    let elsewhere = view.selection.user().map(|_| view.chosen.not_in_line.iter().collect::<Vec<_>>());
    if view.common.json {
        return view.json(Part { line: Some(line), not_in_line: elsewhere, ..Part::default() });
    }
    let rows: Vec<_> = line.into_iter().chain(elsewhere.unwrap_or_default()).collect();
    table::page(view, COLUMNS, &rows)
}

/// The first priority of priority/basic, which gives each job one less (TOP_PRIORITY in Slurm's slurmctld.h).
const FIRST_OF_BASIC: u32 = 0xffff_0000;

/// The priority. None if it only counts the jobs before, as with priority/basic.
pub(crate) fn priority(rank: Rank) -> Option<String> {
    let counts = (FIRST_OF_BASIC - (1 << 28)..=FIRST_OF_BASIC).contains(&rank.priority);
    (!counts).then(|| rank.priority.to_string())
}

/// The planned place of a job.
pub(crate) fn place(row: &WaitingJob) -> String {
    match (&row.planned_controller, row.planned_places.is_empty()) {
        (None, true) => "-".to_owned(),
        (None, false) => names::places(&row.planned_places),
        (Some(controller), true) => controller.clone(),
        (Some(controller), false) => format!("{controller} {}", names::places(&row.planned_places)),
    }
}
