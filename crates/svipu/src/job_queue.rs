//! `svipu queue`: the jobs that wait for IPUs.

use vipu_status::WaitingJob;

use crate::error::Failure;
use crate::names;
use crate::table::{self, Column};
use crate::times;
use crate::view::{Part, View};

type Of = Column<WaitingJob>;

/// The columns.
pub(crate) const COLUMNS: &[Column<WaitingJob>] = &[
    Of::new("job", "JOB", 24, |row, _| names::job(row.job.as_deref())),
    Of::new("name", "NAME", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.name.as_deref()))
    })
    .on_demand(),
    Of::new("user", "USER", 16, |row, view| view.user(row.job.as_deref())),
    Of::new("slurm_partition", "SLURM_PARTITION", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.slurm_partition.as_deref()))
    })
    .on_demand(),
    Of::new("model", "MODEL", 16, |row, _| row.model.to_string()),
    Of::new("size", "IPUS", 10, |row, _| row.size.to_string()).on_the_right(),
    Of::new("tasks", "TASKS", 10, |row, _| row.tasks.to_string()).on_the_right().on_demand(),
    Of::new("time", "TIME_LIMIT", 16, |row, _| times::limit(row.duration)).on_the_right(),
    Of::new("tier", "TIER", 6, |row, _| row.rank.tier.to_string()).on_the_right().on_demand(),
    Of::new("priority", "PRIORITY", 10, |row, _| row.rank.priority.to_string()).on_the_right(),
    Of::new("not_before", "NOT_BEFORE", 19, |row, view| view.time(row.not_before)).on_demand(),
    Of::new("start", "START", 19, |row, view| view.time_if_known(row.start)),
    Of::new("place", "PLACE", 40, |row, _| place(row)).on_demand(),
    Of::new("reason", "REASON", 200, |row, _| names::or_dash(row.reason.as_deref())),
];

/// The page of the command.
pub(crate) fn show(view: &View<'_>) -> Result<String, Failure> {
    let rows: Vec<_> = view.chosen.line.iter().collect();
    if view.common.json {
        return view.json(Part { line: Some(rows), ..Part::default() });
    }
    table::page(view, COLUMNS, &rows)
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
