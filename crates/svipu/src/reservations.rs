//! The reservations of the licence that counts a model's IPUs.

use vipu_status::{LicenseReservation, Model};

use crate::names;
use crate::view::View;

/// A sentence about each reservation that has not ended, the first one first.
pub(crate) fn sentences(view: &View<'_>, model: &Model) -> Vec<String> {
    let now = view.surroundings.now;
    let all = model.license.iter().flat_map(|license| &license.reservations);
    let mut reservations: Vec<_> = all.filter(|it| it.until > now).collect();
    reservations.sort_by_key(|it| (it.from, it.until));
    reservations.into_iter().map(|it| sentence(view, it)).collect()
}

fn sentence(view: &View<'_>, reservation: &LicenseReservation) -> String {
    let LicenseReservation { ipus, from, until } = *reservation;
    let from =
        if from <= view.surroundings.now { String::new() } else { format!("from {} ", view.time(from)) };
    format!(
        "A reservation keeps {} free {from}until {}, for its own jobs.",
        names::ipus(ipus),
        view.time(until)
    )
}
