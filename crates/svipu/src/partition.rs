//! `svipu partition`: all that the document and the audit log know about a partition.

use vipu_status::{Job, Partition, State};

use crate::error::Failure;
use crate::history::{self, record::Of};
use crate::page::{Page, Tone};
use crate::view::{Part, View};
use crate::{names, partition_list, safe, times};

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
        ("places", partition_list::place(row)),
        ("state", format!("{} since {} ({ago})", row.state.name(), view.time(row.since))),
        ("begun", view.time(row.begun)),
        ("ends", partition_list::ends(view, row)),
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
