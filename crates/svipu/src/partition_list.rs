//! `svipu partitions`: the partitions of jobs.

use vipu_status::Partition;

use crate::error::Failure;
use crate::names;
use crate::table::{self, Column};
use crate::view::{Part, View};

type Of = Column<Partition>;

/// The columns.
pub(crate) const COLUMNS: &[Column<Partition>] = &[
    Of::new("id", "ID", 36, |row, _| names::or_dash(row.id.as_deref())),
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
    Of::new("model", "MODEL", 16, |row, _| row.model.clone()),
    Of::new("controller", "CONTROLLER", 30, |row, _| row.controller.clone()),
    Of::new("size", "IPUS", 10, |row, _| row.size.to_string()).on_the_right(),
    Of::new("state", "STATE", 10, |row, _| row.state.name().to_owned()),
    Of::new("begun", "BEGUN", 19, |row, view| view.time(row.begun)).on_demand(),
    Of::new("since", "SINCE", 19, |row, view| view.time(row.since)),
    Of::new("ends", "ENDS", 19, |row, view| ends(view, row)),
    Of::new("place", "PLACE", 60, |row, _| place(row)).on_demand(),
    Of::new("reason", "REASON", 200, |row, _| names::or_dash(row.reason.as_deref())).on_demand(),
];

/// The page of the command.
pub(crate) fn show(view: &View<'_>) -> Result<String, Failure> {
    let rows: Vec<_> = view.chosen.partitions.iter().collect();
    if view.common.json {
        return view.json(Part { partitions: Some(rows), ..Part::default() });
    }
    table::page(view, COLUMNS, &rows)
}

/// The places of a partition. `~` marks a guess.
pub(crate) fn place(row: &Partition) -> String {
    let guess = if row.places_are_assumed { "~" } else { "" };
    names::places(&row.places) + guess
}

/// The latest end of a partition's job.
pub(crate) fn ends(view: &View<'_>, row: &Partition) -> String {
    if row.unlimited { "UNLIMITED".to_owned() } else { view.time_if_known(row.ends) }
}
