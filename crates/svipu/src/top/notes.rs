//! What the user should know before all else.

use std::time::Duration;

use vipu_status::{Contact, Model, Pod, Status};

use crate::document;
use crate::page::Tone;
use crate::times::span;

/// A line above the map.
pub(super) type Note = (Tone, String);

/// The lines about the document. `failure` says why the newest document cannot be read. `now` is None if the
/// screen is held still, so that the age tells nothing about slurmctld.
pub(super) fn of_document(status: &Status, failure: Option<&str>, now: Option<i64>) -> Vec<Note> {
    let failed = failure.map(|why| format!("no new document: {why}"));
    let old = now.and_then(|now| document::warning(status, now));
    let order = status.out_of_order.as_ref();
    let order =
        order.map(|why| format!("OUT OF ORDER: no job with IPUs starts until slurmctld is restarted: {why}"));
    [failed, old, order].into_iter().flatten().map(|text| (Tone::Alarm, text)).collect()
}

/// The reason why there is no newer document while its read has not ended for so long.
pub(super) fn hanging_read(time: Duration) -> String {
    let time = span(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    format!("its read has not ended for {time}: its server or network may hang")
}

/// The lines about a Pod and its model.
pub(super) fn of_pod(model: &Model, pod: &Pod, now: i64) -> Vec<Note> {
    let contact = match &pod.contact {
        Contact::Reached { .. } => None,
        Contact::NotYet => Some((Tone::Yellow, "the controller has not answered yet".to_owned())),
        Contact::Lost { since, reason } => {
            let ago = span(now.saturating_sub(*since));
            Some((Tone::Red, format!("the controller was lost {ago} ago: {reason}")))
        }
    };
    let red = |text: String| (Tone::Red, text);
    let trouble = model.trouble.as_ref().map(|why| red(format!("no job can start on {}: {why}", model.name)));
    let of_pod = pod.trouble.as_ref().filter(|_| contact.is_none());
    let of_pod = of_pod.map(|why| red(format!("no partition can be made: {why}")));
    let conf = model.conf.error.as_ref().map(|why| red(format!("error in the configuration file: {why}")));
    contact.into_iter().chain(trouble).chain(of_pod).chain(conf).collect()
}
