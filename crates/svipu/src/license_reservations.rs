//! The reservations of the licence that counts a model's IPUs.

use vipu_status::{LicenseReservation, Model};

use crate::names;
use crate::view::View;

/// The reservations that are shown.
const MOST: usize = 4;

/// A sentence about each reservation that has not ended and begins before this time, the first one first.
pub(crate) fn sentences(view: &View<'_>, model: &Model, before: i64) -> Vec<String> {
    let now = view.surroundings.now;
    let all = model.license.iter().flat_map(|license| &license.reservations);
    let mut reservations: Vec<_> = all.filter(|it| it.until > now && it.from < before).collect();
    reservations.sort_by_key(|it| (it.from, it.until));
    let more = reservations.len().saturating_sub(MOST);
    let shown = reservations.into_iter().take(MOST).map(|it| sentence(view, it));
    shown.chain((more > 0).then(|| format!("There are {more} more reservations of IPUs."))).collect()
}

fn sentence(view: &View<'_>, reservation: &LicenseReservation) -> String {
    let LicenseReservation { ipus, from, until } = *reservation;
    let from =
        if from <= view.surroundings.now { String::new() } else { format!("from {} ", view.time(from)) };
    format!(
        "A reservation keeps {} free {from}until {} for its own jobs.",
        names::ipus(ipus),
        view.time(until)
    )
}
