//! `svipu partition` and `svipu partitions`: one partition, and the list of all.

use vipu_status::{Job, Partition, State};

use crate::error::Failure;
use crate::history::record::Of;
use crate::page::{Page, Tone};
use crate::table::{self, Column};
use crate::view::{Part, View};
use crate::{history, names, safe, times};

/// The known partitions that an error names.
const NEAREST: usize = 3;

/// The characters by which ids are compared. Ids of ours have 36 at most.
const COMPARED: usize = 64;

/// The page of the command.
pub(crate) fn show(view: &View<'_>, id: &str) -> Result<String, Failure> {
    let known = view.chosen.partitions.iter();
    let found: Vec<_> = known.filter(|entry| entry.id.as_deref() == Some(id)).collect();
    let log = history::read(view, &Of::Partition(id.to_owned()));
    if found.is_empty() {
        history::only::<()>(Failure::unknown("partition", id, &nearest(view, id)), &log)?;
    }
    if view.common.json {
        let history = log.as_ref().ok().map(|log| log.histories.iter().collect());
        return view.json(Part { partitions: Some(found), history, ..Part::default() });
    }
    let mut page = view.page();
    found.iter().for_each(|entry| add(&mut page, view, entry));
    history::add(&mut page, view, &log);
    Ok(page.finish())
}

/// The ids that look most like this one.
fn nearest(view: &View<'_>, id: &str) -> Vec<String> {
    let id = safe::cut(id, COMPARED);
    let ids = view.chosen.partitions.iter().filter_map(|entry| entry.id.as_deref());
    let mut ids: Vec<_> = ids.map(|known| safe::cut(known, COMPARED)).collect();
    ids.sort_by_cached_key(|known| (strsim::levenshtein(known, &id), known.clone()));
    ids.truncate(NEAREST);
    ids
}

/// Adds the lines about a partition.
pub(crate) fn add(page: &mut Page, view: &View<'_>, row: &Partition) {
    page.toned(&[(Tone::Bold, &format!("partition {}", safe::cut(&names::or_dash(row.id.as_deref()), 60)))]);
    match row.state {
        State::Idle => page.fields(&[("job", "-".to_owned())]),
        _ => owner(page, view, row.job.as_deref()),
    }
    let ago = times::span(view.surroundings.now.saturating_sub(row.since));
    page.fields(&[
        ("model", row.model.clone()),
        ("controller", row.controller.clone()),
        ("IPUs", row.size.to_string()),
        ("places", place(row)),
        ("state", format!("{} since {} ({ago})", row.state.name(), view.time(row.since))),
        ("begun", view.time(row.begun)),
        ("ends", ends(view, row)),
        ("reason", names::or_dash(row.reason.as_deref())),
    ]);
    let is_own = row.job.as_deref().is_some_and(|job| job.user == view.surroundings.user);
    if row.state == State::Kept && is_own {
        let id = safe::cut(&names::or_dash(row.id.as_deref()), 60);
        page.line(&format!("  `svipu partition free {id}` removes it now."));
    }
    if row.places_are_assumed {
        page.line("  ~: the places are assumed, because the controller has not listed the partition yet.");
    }
}

/// Adds the lines about a job and its user.
pub(crate) fn owner(page: &mut Page, view: &View<'_>, job: Option<&Job>) {
    let Some(known) = job else {
        page.fields(&[("job", "hidden".to_owned())]);
        return;
    };
    let id = match names::job(job) {
        name if name == known.id.to_string() => name,
        name => format!("{name} (id {})", known.id),
    };
    page.fields(&[
        ("job", id),
        ("job name", names::or_dash(known.name.as_deref())),
        ("user", view.user(job)),
        ("Slurm partition", names::or_dash(known.slurm_partition.as_deref())),
    ]);
}

type Listed = Column<Partition>;

/// The columns.
pub(crate) const COLUMNS: &[Column<Partition>] = &[
    Listed::new("id", "ID", 36, |row, _| names::or_dash(row.id.as_deref())),
    Listed::new("job", "JOB", 24, |row, _| names::job(row.job.as_deref())),
    Listed::new("name", "NAME", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.name.as_deref()))
    })
    .on_demand(),
    Listed::new("user", "USER", 16, |row, view| view.user(row.job.as_deref())),
    Listed::new("slurm_partition", "SLURM_PARTITION", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.slurm_partition.as_deref()))
    })
    .on_demand(),
    Listed::new("model", "MODEL", 16, |row, _| row.model.clone()),
    Listed::new("controller", "CONTROLLER", 30, |row, _| row.controller.clone()),
    Listed::new("size", "IPUS", 10, |row, _| row.size.to_string()).on_the_right(),
    Listed::new("state", "STATE", 10, |row, _| row.state.name().to_owned()),
    Listed::new("begun", "BEGUN", 19, |row, view| view.time(row.begun)).on_demand(),
    Listed::new("since", "SINCE", 19, |row, view| view.time(row.since)),
    Listed::new("ends", "ENDS", 19, |row, view| ends(view, row)),
    Listed::new("place", "PLACE", 60, |row, _| place(row)).on_demand(),
    Listed::new("reason", "REASON", 200, |row, _| names::or_dash(row.reason.as_deref())).on_demand(),
];

/// The page of the command.
pub(crate) fn list(view: &View<'_>) -> Result<String, Failure> {
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
fn ends(view: &View<'_>, row: &Partition) -> String {
    if row.unlimited { "UNLIMITED".to_owned() } else { view.time_if_known(row.ends) }
}
