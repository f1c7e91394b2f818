//! `svipu partition` and `svipu partitions`: one partition, and the list of all.

use vipu_status::{Job, Partition, State};

use crate::error::Failure;
use crate::history::record::Of;
use crate::page::{Page, Tone};
use crate::table::{self, Column, Usual};
use crate::view::{Part, View};
use crate::{history, job, names, other_partitions, safe, times};

/// The known partitions that an error names.
const NEAREST: usize = 3;

/// The characters by which ids are compared. Ids of ours have 36 at most.
const COMPARED: usize = 64;

/// The page of the command.
pub(crate) fn show(view: &View<'_>, id: &str) -> Result<String, Failure> {
    let known = view.chosen.partitions.iter();
    let mut found: Vec<_> = known.filter(|entry| entry.id.as_deref() == Some(id)).collect();
    let others = other_partitions::all(view).into_iter().filter(|other| other.id() == id);
    let others: Vec<_> = others.filter(|_| found.is_empty()).collect();
    let (mut of, is_known) = (Of::Partition(id.to_owned()), !(found.is_empty() && others.is_empty()));
    // People also name the job.
    let of_job = job::find(view, id).ok().filter(|_| !is_known);
    let jobs = job::ids(of_job.as_ref(), id);
    if !is_known && !jobs.is_empty() {
        of = Of::Jobs(jobs);
        found.extend(of_job.into_iter().flat_map(|of_job| of_job.partitions));
    }
    let log = history::read(view, &of);
    if found.is_empty() && others.is_empty() {
        history::only::<()>(Failure::unknown("partition", id, &nearest(view, id)), &log)?;
    }
    if view.common.json {
        let history = log.as_ref().ok().map(|log| log.histories.iter().collect());
        return view.json(Part { partitions: Some(found), others: Some(others), history, ..Part::default() });
    }
    let mut page = view.page();
    found.iter().for_each(|entry| add(&mut page, view, entry));
    others.iter().for_each(|other| other_partitions::add(&mut page, other));
    history::add(&mut page, view, &log);
    Ok(page.finish())
}

/// The ids that look most like this one.
fn nearest(view: &View<'_>, id: &str) -> Vec<String> {
    let id = safe::cut(id, COMPARED);
    let ids = view.chosen.partitions.iter().filter_map(|entry| entry.id.as_deref());
    let others = other_partitions::all(view);
    let ids = ids.chain(others.iter().map(|other| other.id()));
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
        ("reason", names::or_dash(news(row))),
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
    page.fields(&[
        ("job", names::job_with_id(known)),
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
    .only(Usual::OnDemand),
    Listed::new("user", "USER", 16, |row, view| view.user(row.job.as_deref())),
    Listed::new("slurm_partition", "SLURM_PARTITION", 24, |row, _| {
        names::or_dash(row.job.as_deref().and_then(|job| job.slurm_partition.as_deref()))
    })
    .only(Usual::OnDemand),
    Listed::new("model", "MODEL", 16, |row, _| row.model.clone()).only(Usual::IfRoom),
    Listed::new("controller", "CONTROLLER", 30, |row, _| row.controller.clone()).only(Usual::IfRoom),
    Listed::new("size", "IPUS", 10, |row, _| row.size.to_string()).on_the_right(),
    Listed::new("state", "STATE", 10, |row, _| row.state.name().to_owned()),
    Listed::new("begun", "BEGUN", 19, |row, view| view.time(row.begun)).only(Usual::OnDemand),
    Listed::new("since", "SINCE", 19, |row, view| view.time(row.since)),
    Listed::new("ends", "ENDS", 19, |row, view| ends(view, row)),
    Listed::new("place", "PLACE", 60, |row, _| place(row)).only(Usual::OnDemand),
    Listed::new("reason", "REASON", 200, |row, _| names::or_dash(news(row))).only(Usual::IfTold),
];

/// The page of the command.
pub(crate) fn list(view: &View<'_>) -> Result<String, Failure> {
    let rows: Vec<_> = view.chosen.partitions.iter().collect();
    let is_whole = view.selection.user().is_none();
    let others = if is_whole { other_partitions::all(view) } else { Vec::new() };
    if view.common.json {
        let others = is_whole.then_some(others);
        return view.json(Part { partitions: Some(rows), others, ..Part::default() });
    }
    let mut page = view.page();
    table::add(&mut page, view, COLUMNS, &rows)?;
    // Programs choose columns, or leave out the heads, and expect one list.
    if view.has_header() && view.common.format.is_none() {
        other_partitions::add_list(&mut page, view, &others)?;
    }
    Ok(page.finish())
}

/// The places of a partition. `~` marks a guess.
pub(crate) fn place(row: &Partition) -> String {
    let guess = if row.places_are_assumed { "~" } else { "" };
    names::places(&row.places) + guess
}

/// The reason, without the beginning of each line about a create (driver/create_progress.rs), which the other members
/// tell: tries, troubles, and times that are not usual.
pub(crate) fn news(row: &Partition) -> Option<&str> {
    let (id, ipus) = (row.id.as_deref().unwrap_or_default(), names::ipus(row.size));
    let known = format!("vipu: creating partition {id}: {ipus} on {}", row.model);
    let reason = row.reason.as_deref()?;
    let news = reason.strip_prefix(&*known).map_or(reason, |rest| rest.trim_start_matches(", "));
    Some(news).filter(|news| !["", "vipu: preparing"].contains(news))
}

/// The latest end of a partition's job.
fn ends(view: &View<'_>, row: &Partition) -> String {
    if row.unlimited { "UNLIMITED".to_owned() } else { view.time_if_known(row.ends) }
}
