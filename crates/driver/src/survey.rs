//! The surveys of a controller, at intervals and on request.

mod own_partitions;
mod pool;

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ledger::{Event, Millis};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use vipu_types::Words;

use crate::pod_in_use::PodInUse;
use crate::restart_on_panic::restarted_on_panic;
use crate::shared_state::SharedState;
use crate::{CallError, Controller, Environment, Listing};

/// The time between two surveys while jobs may wait for a change that is near: the return of a silent
/// controller, or the release of the IPUs of a partition that is shown as removed.
const PERIOD_OF_CHANGE: Duration = Duration::from_secs(5);

/// The shortest time between two surveys, however often one is requested. Each survey makes the controller
/// list everything.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// Starts the surveys of all configured Pods, the first ones at once. Those of one Pod come one after the other. Dropping
/// the handles ends them.
pub(crate) fn start<W: Environment>(shared: &Rc<SharedState<W>>) -> Vec<AbortOnDropHandle<()>> {
    let start = |pod: Rc<PodInUse<W::Controller>>| {
        let shared = Rc::clone(shared);
        let work = move || surveys(Rc::clone(&shared), Rc::clone(&pod));
        AbortOnDropHandle::new(spawn_local(restarted_on_panic("surveys", work)))
    };
    shared.listed().into_iter().map(start).collect()
}

async fn surveys<W: Environment>(shared: Rc<SharedState<W>>, pod: Rc<PodInUse<W::Controller>>) {
    let mut contact = Contact::NotAsked;
    // A job must not start before it is known whether its files can be written.
    for need in shared.resources.needs(pod.settings.ipuof_dir.as_ref()) {
        need.known().await;
    }
    loop {
        // Requests until now are answered by this survey.
        pin!(pod.survey_wanted.notified()).enable();
        let asked = shared.environment.now();
        let answer = survey(&shared, &pod).await;
        let news = contact.news(answer.as_ref());
        match &news {
            Some(News::Back) => {
                tracing::info!("controller {} answers again", pod.controller.name());
                pod.observed.is_back.notify_waiters();
            }
            Some(News::Trouble(error)) => {
                tracing::error!("no IPU job of model {} can start there: {error}", pod.id.model);
            }
            Some(News::First) | None => {}
        }
        let begins_to_answer = matches!(news, Some(News::First | News::Back));
        let change_is_near = match &answer {
            Ok(listing) => listing.partitions.iter().any(|seen| seen.leaving),
            Err(_) => true,
        };
        match answer {
            Ok(listing) => report(&shared, &pod, asked, listing),
            Err(error) => {
                let reason = error.message;
                shared.environment.report(Event::Unreachable { pod: pod.id.clone(), reason });
            }
        }
        if begins_to_answer {
            let pod = Rc::clone(&pod);
            spawn_local(async move { pod.controller.begins_to_answer().await });
        }
        let interval = pod.settings.reconcile_interval;
        let period = if change_is_near { interval.min(PERIOD_OF_CHANGE) } else { interval };
        sleep(SHORTEST_PERIOD).await;
        // Timeout or request, the next survey is due in either case.
        let _ = timeout(period.saturating_sub(SHORTEST_PERIOD), pod.survey_wanted.notified()).await;
    }
}

/// Asks for a listing, and for what it lacks about partitions of ours.
async fn survey<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
) -> Result<Listing, CallError> {
    let mut answer = pod.survey(|partition| shared.known(partition).is_some()).await;
    pod.observed.answers.set(match &mut answer {
        Ok(listing) => own_partitions::complete(shared, pod, listing).await,
        Err(_) => false,
    });
    answer
}

/// Reports a listing to the ledger: the pool, the hosts without jobs, and last all IPUs and partitions. Has missing
/// partitions of the pool made.
fn report<W: Environment>(
    shared: &Rc<SharedState<W>>,
    pod: &Rc<PodInUse<W::Controller>>,
    asked: Millis,
    mut listing: Listing,
) {
    let (id, environment) = (&pod.id, &shared.environment);
    pool::keep(shared, pod, &listing);
    if pod.settings.pool.is_some() {
        let missing = pool::absent(pod, &listing);
        let partitions = std::mem::take(&mut listing.pool);
        environment.report(Event::Pool { pod: id.clone(), partitions, missing });
    }
    if pod.settings.hosts.is_some() {
        pod.observed.hosts.tell(id, &listing.broken_hosts);
        let places = listing.broken_hosts.places();
        environment.report(Event::BrokenIpus { pod: id.clone(), places });
    }
    let Listing { ipus, faulty, partitions, .. } = listing;
    environment.report(Event::Inventory { pod: id.clone(), asked, ipus, faulty, partitions });
}

/// The contact with a controller.
enum Contact {
    NotAsked,
    Answers,
    /// It gives no usable answer, for this reason.
    Trouble(Words),
}

/// A change of the contact.
#[derive(Debug, PartialEq)]
enum News<'a> {
    /// It answers for the first time.
    First,
    /// It answers again.
    Back,
    Trouble(&'a CallError),
}

impl Contact {
    /// The news in this answer. Another cause is news, because mending one fault may reveal the next. The
    /// cause that is known already, met by another call, is not news.
    fn news<'a>(&mut self, answer: Result<&Listing, &'a CallError>) -> Option<News<'a>> {
        let now = answer.map_or_else(|error| Self::Trouble(error.cause.clone()), |_| Self::Answers);
        match (std::mem::replace(self, now), answer) {
            (Self::NotAsked, Ok(_)) => Some(News::First),
            (Self::Answers, Ok(_)) => None,
            (Self::Trouble(_), Ok(_)) => Some(News::Back),
            (Self::Trouble(cause), Err(error)) if cause == error.cause => None,
            (_, Err(error)) => Some(News::Trouble(error)),
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
            let (message, cause) = (format!("{call}: {cause}").into(), cause.into());
            CallError { failure: Failure::Unclear, message, cause }
        };
        let (refused, again) = (error("list IPUs", "refused"), error("list partitions", "refused"));
        let (expired, listing) = (error("list IPUs", "expired"), Listing::default());
        let mut contact = Contact::NotAsked;
        assert_eq!(contact.news(Ok(&listing)), Some(News::First));
        assert_eq!(contact.news(Ok(&listing)), None);
        assert_eq!(contact.news(Err(&refused)), Some(News::Trouble(&refused)));
        assert_eq!(contact.news(Err(&again)), None);
        assert_eq!(contact.news(Err(&expired)), Some(News::Trouble(&expired)));
        assert_eq!(contact.news(Ok(&listing)), Some(News::Back));
        assert_eq!(contact.news(Err(&expired)), Some(News::Trouble(&expired)));
    }
}
