//! What keeps every job, or every job on some IPUs, from starting.

use vipu_status::{Contact, Model, Pod, WaitingJob};

use super::sentence::Sentence;
use crate::times::span;
use crate::view::View;
use crate::{drains, names, safe};

/// The model is not in the document.
pub(super) fn no_model(view: &View<'_>, row: &WaitingJob) -> Sentence {
    let known: Vec<_> = view.all.models.iter().map(|model| safe::cut(&model.name, 30)).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let text =
        format!("The cluster has no Pod model {} now: known models are {known}.", safe::cut(&row.model, 30));
    Sentence::new("no_model", text)
}

/// The plugin, the model, its controllers, and drains.
pub(crate) fn causes(view: &View<'_>, model: &Model, now: i64) -> Vec<Sentence> {
    let mut causes = Vec::new();
    let name = safe::cut(&model.name, 30);
    if let Some(why) = &view.all.out_of_order {
        let why = safe::cut(why, 200);
        let text =
            format!("No job with IPUs starts until slurmctld is restarted: {why}. Tell your administrator.");
        causes.push(Sentence::new("out_of_order", text));
    }
    if let Some(why) = &model.trouble {
        // The sentence about a lost controller says the same.
        let tells = |pod: &Pod| matches!(&pod.contact, Contact::Lost { reason, .. } if why.contains(reason));
        let is_told = model.pods.iter().any(tells);
        let why = if is_told { String::new() } else { format!(": {}", safe::cut(why, 200)) };
        let text = format!("No job can start on {name} now{why}.");
        causes.push(Sentence::new("trouble", text));
    }
    if !model.conf.in_force {
        let why = model.conf.error.as_deref().map(|why| format!(": {}", safe::cut(why, 200)));
        let text = format!("No settings of {name} are in force{}.", why.unwrap_or_default());
        causes.push(Sentence::new("no_settings", text));
    }
    causes.extend(model.pods.iter().filter_map(|pod| controller(now, pod)));
    let sentences = drains::sentences(view, model);
    causes.extend(sentences.into_iter().map(|text| Sentence::new("drained", text)));
    causes
}

/// A controller that does not answer, or on which no partition can be made.
fn controller(now: i64, pod: &Pod) -> Option<Sentence> {
    let name = safe::cut(&pod.controller, 60);
    let ipus = match pod.ipus.total {
        0 => String::new(),
        total => format!(" Its {} cannot be had until it answers.", names::ipus(total)),
    };
    match (&pod.contact, &pod.trouble) {
        (Contact::NotYet, _) => {
            let text = format!("Controller {name} has not answered since slurmctld was started.{ipus}");
            Some(Sentence::new("controller_away", text))
        }
        (Contact::Lost { since, reason }, _) => {
            let ago = span(now.saturating_sub(*since));
            let prefix = format!("controller {}: ", pod.controller);
            let reason = safe::cut(reason.strip_prefix(&prefix).unwrap_or(reason), 200);
            let text = format!("Controller {name} was lost {ago} ago: {reason}.{ipus}");
            Some(Sentence::new("controller_away", text))
        }
        (Contact::Reached { .. }, Some(why)) => {
            let text = format!("Controller {name} can make no partition now: {}.", safe::cut(why, 200));
            Some(Sentence::new("controller_trouble", text))
        }
        (Contact::Reached { .. }, None) => None,
    }
}
