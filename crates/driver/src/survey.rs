//! Asking a controller for its IPUs and partitions, now and then and when told to.

use std::collections::HashSet;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ledger::{Event, SeenPartition};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use vipu_types::PodId;

use crate::context::Context;
use crate::pod::Pod;
use crate::restart_on_panic::restarted_on_panic;
use crate::{CallError, Controller, Environment, Listing, PartitionState};

/// Between two surveys while jobs may wait for a change that is near: a controller that does not answer comes
/// back, or the IPUs of a partition that is shown as removed are free.
const PERIOD_OF_CHANGE: Duration = Duration::from_secs(5);

/// At least between two surveys, however often one is asked for: a controller lists all it has each time.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// The surveys of one Pod, one after the other, until this is dropped.
pub(crate) struct Surveyor {
    /// Remembers one call: what is asked for during a survey makes one more after it.
    wake: Rc<Notify>,
    _task: AbortOnDropHandle<()>,
}

impl Surveyor {
    /// Starts with a survey at once.
    pub fn start<W: Environment>(context: &Rc<Context<W>>, id: &PodId, pod: &Rc<Pod<W::Controller>>) -> Self {
        let wake = Rc::new(Notify::new());
        let task = {
            let (context, id, pod, wake) = (Rc::clone(context), id.clone(), Rc::clone(pod), Rc::clone(&wake));
            let work = move || surveys(Rc::clone(&context), id.clone(), Rc::clone(&pod), Rc::clone(&wake));
            AbortOnDropHandle::new(spawn_local(restarted_on_panic("surveys", work)))
        };
        Self { wake, _task: task }
    }

    /// Asks for a survey that begins after this call.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}

async fn surveys<W: Environment>(
    context: Rc<Context<W>>,
    id: PodId,
    pod: Rc<Pod<W::Controller>>,
    wake: Rc<Notify>,
) {
    let mut contact = Contact::default();
    // No job starts before it is known whether its files can be written.
    for need in context.needs(&pod) {
        need.known().await;
    }
    loop {
        // Whoever asked for a survey until now gets this one.
        pin!(wake.notified()).enable();
        let asked = context.environment.now();
        let mut answer = pod.survey(|partition| context.known(partition).is_some()).await;
        let answers = match &mut answer {
            Ok(listing) => {
                say_what_is_wrong(&context, &pod, listing).await
                    && add_what_is_not_shown(&context, &id, &pod, listing).await
            }
            Err(_) => false,
        };
        pod.observed.answers.set(answers);
        match contact.news(answer.as_ref()) {
            Some(News::Back) => tracing::info!("controller {} answers again", pod.controller.name()),
            Some(News::Trouble(error)) => {
                tracing::error!("no IPU job of model {} can start there: {error}", id.model);
            }
            None => {}
        }
        let change_is_near = match &answer {
            Ok(listing) => listing.partitions.iter().any(|seen| seen.leaving),
            Err(_) => true,
        };
        context.environment.report(match answer {
            Ok(listing) => Event::Inventory {
                pod: id.clone(),
                asked,
                ipus: listing.ipus,
                faulty: listing.faulty,
                partitions: listing.partitions,
            },
            Err(error) => Event::Unreachable { pod: id.clone(), reason: error.message },
        });
        let interval = pod.settings.reconcile_interval;
        let period = if change_is_near { interval.min(PERIOD_OF_CHANGE) } else { interval };
        sleep(SHORTEST_PERIOD).await;
        // Over or asked for, either way the next survey is due.
        let _ = timeout(period.saturating_sub(SHORTEST_PERIOD), wake.notified()).await;
    }
}

/// A listing only says that a partition cannot be used: asks why, for those that are ours. False when the
/// controller falls silent: each further question would last as long as a call may.
async fn say_what_is_wrong<W: Environment>(
    context: &Context<W>,
    pod: &Pod<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let faulty = listing.partitions.iter_mut().filter_map(|it| Some((&it.partition, it.fault.as_mut()?)));
    for (partition, fault) in faulty.filter(|(partition, _)| context.known(partition).is_some()) {
        match pod.status(partition).await {
            Ok(PartitionState::Failed(words)) => *fault = words,
            Err(error) if error.failure.is_silence() => return false,
            _ => {}
        }
    }
    true
}

/// A listing may be of one allocation only, and of another one than when a job began. So it is asked of each
/// partition of ours that is missing whether it is there: where its IPUs are is not known then. False when
/// the controller falls silent: what is not asked for counts as there.
async fn add_what_is_not_shown<W: Environment>(
    context: &Context<W>,
    id: &PodId,
    pod: &Pod<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let mut answers = true;
    let shown: HashSet<_> = listing.partitions.iter().map(|seen| seen.partition.clone()).collect();
    for partition in context.partitions_of_ours(id).into_iter().filter(|ours| !shown.contains(ours)) {
        if answers {
            match pod.status(&partition).await {
                Ok(PartitionState::Absent | PartitionState::Removed) => continue,
                Err(error) if error.failure.is_silence() => answers = false,
                _ => {}
            }
        }
        listing.partitions.push(SeenPartition { partition, places: Vec::new(), fault: None, leaving: false });
    }
    answers
}

/// How it stands with a controller.
#[derive(Default)]
struct Contact {
    /// Why it gives no answer, or none of use.
    trouble: Option<String>,
}

/// What is worth a line in the log.
#[derive(Debug, PartialEq)]
enum News<'a> {
    Back,
    Trouble(&'a CallError),
}

impl Contact {
    /// What is new with this answer. When one thing was mended the next may show: another cause is news,
    /// another call that met the same one is none.
    fn news<'a>(&mut self, answer: Result<&Listing, &'a CallError>) -> Option<News<'a>> {
        let before = std::mem::replace(&mut self.trouble, answer.err().map(|error| error.cause.clone()));
        match answer {
            Ok(_) => before.map(|_| News::Back),
            Err(error) => (before.as_deref() != Some(error.cause.as_str())).then_some(News::Trouble(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn each_cause_is_news_once() {
        let error = |call: &str, cause: &str| {
            let (message, cause) = (format!("{call}: {cause}"), cause.to_owned());
            CallError { failure: Failure::Unclear, message, cause }
        };
        let (refused, again) = (error("list IPUs", "refused"), error("list partitions", "refused"));
        let (expired, listing) = (error("list IPUs", "expired"), Listing::default());
        let mut contact = Contact::default();
        assert_eq!(contact.news(Ok(&listing)), None);
        assert_eq!(contact.news(Err(&refused)), Some(News::Trouble(&refused)));
        assert_eq!(contact.news(Err(&again)), None);
        assert_eq!(contact.news(Err(&expired)), Some(News::Trouble(&expired)));
        assert_eq!(contact.news(Ok(&listing)), Some(News::Back));
        assert_eq!(contact.news(Err(&expired)), Some(News::Trouble(&expired)));
    }
}
