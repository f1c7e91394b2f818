//! The surveys of a controller, at intervals and on request.

mod pool;

use std::collections::HashSet;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ledger::{Event, SeenPartition};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use vipu_types::{PartitionId, PodId};

use crate::pod_in_use::PodInUse;
use crate::restart_on_panic::restarted_on_panic;
use crate::shared_state::SharedState;
use crate::tracked::PartitionOwner;
use crate::{CallError, Controller, Environment, Listing, PartitionState};

/// The time between two surveys while jobs may wait for a change that is near: the return of a silent
/// controller, or the release of the IPUs of a partition that is shown as removed.
const PERIOD_OF_CHANGE: Duration = Duration::from_secs(5);

/// The shortest time between two surveys, however often one is requested. Each survey makes the controller
/// list everything.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// The surveys of one Pod, one after the other. Dropping this ends them.
pub(crate) struct Surveyor {
    /// Remembers one call. A request during a survey leads to one more survey after it.
    wake: Rc<Notify>,
    _task: AbortOnDropHandle<()>,
}

impl Surveyor {
    /// Starts the surveys, the first one at once.
    pub fn start<W: Environment>(
        shared: &Rc<SharedState<W>>,
        id: &PodId,
        pod: &Rc<PodInUse<W::Controller>>,
    ) -> Self {
        let wake = Rc::new(Notify::new());
        let task = {
            let (shared, id, pod, wake) = (Rc::clone(shared), id.clone(), Rc::clone(pod), Rc::clone(&wake));
            let work = move || surveys(Rc::clone(&shared), id.clone(), Rc::clone(&pod), Rc::clone(&wake));
            AbortOnDropHandle::new(spawn_local(restarted_on_panic("surveys", work)))
        };
        Self { wake, _task: task }
    }

    /// Requests a survey that begins after this call.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}

async fn surveys<W: Environment>(
    shared: Rc<SharedState<W>>,
    id: PodId,
    pod: Rc<PodInUse<W::Controller>>,
    wake: Rc<Notify>,
) {
    let (mut contact, mut answered) = (Contact::default(), false);
    // A job must not start before it is known whether its files can be written.
    for need in shared.needs(&pod) {
        need.known().await;
    }
    loop {
        // Requests until now are answered by this survey.
        pin!(wake.notified()).enable();
        let asked = shared.environment.now();
        let mut answer = pod.survey(|partition| shared.known(partition).is_some()).await;
        let answers = match &mut answer {
            Ok(listing) => {
                note_what_is_shown(&shared, &id, listing);
                say_what_is_wrong(&shared, &pod, listing).await
                    && add_what_is_not_shown(&shared, &id, &pod, listing).await
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
        let begins_to_answer = answer.is_ok() && !answered;
        answered = answer.is_ok();
        let change_is_near = match &answer {
            Ok(listing) => listing.partitions.iter().any(|seen| seen.leaving),
            Err(_) => true,
        };
        if let Ok(listing) = &mut answer {
            keep_pool(&shared, &id, &pod, listing);
            if pod.settings.pool.is_some() {
                let missing = pool::absent(&pod, listing);
                let partitions = std::mem::take(&mut listing.pool);
                shared.environment.report(Event::Pool { pod: id.clone(), partitions, missing });
            }
        }
        if let (Ok(listing), Some(_)) = (&answer, &pod.settings.hosts) {
            pod.observed.hosts.tell(&id, &listing.broken_hosts);
            let places = listing.broken_hosts.places();
            shared.environment.report(Event::BrokenIpus { pod: id.clone(), places });
        }
        shared.environment.report(match answer {
            Ok(listing) => Event::Inventory {
                pod: id.clone(),
                asked,
                ipus: listing.ipus,
                faulty: listing.faulty,
                partitions: listing.partitions,
            },
            Err(error) => Event::Unreachable { pod: id.clone(), reason: error.message },
        });
        if begins_to_answer {
            let pod = Rc::clone(&pod);
            spawn_local(async move { pod.controller.begins_to_answer().await });
        }
        let interval = pod.settings.reconcile_interval;
        let period = if change_is_near { interval.min(PERIOD_OF_CHANGE) } else { interval };
        sleep(SHORTEST_PERIOD).await;
        // Timeout or request, the next survey is due in either case.
        let _ = timeout(period.saturating_sub(SHORTEST_PERIOD), wake.notified()).await;
    }
}

/// Makes the missing partitions of the pool, unless a task does so already.
fn keep_pool<W: Environment>(
    shared: &Rc<SharedState<W>>,
    id: &PodId,
    pod: &Rc<PodInUse<W::Controller>>,
    listing: &Listing,
) {
    // The job of a partition that vanished hears of it before there is a new one of its name.
    let is_of_a_run = |partition: &PartitionId| {
        shared.known(partition).is_some_and(|known| known.owner.get() == PartitionOwner::Ours)
    };
    let mut missing = pool::missing(id, pod, listing);
    missing.retain(|(partition, _)| !is_of_a_run(partition));
    let mut maker = pod.observed.pool.maker.borrow_mut();
    if missing.is_empty() || maker.as_ref().is_some_and(|maker| !maker.is_finished()) {
        return;
    }
    let (shared, id, pod) = (Rc::clone(shared), id.clone(), Rc::clone(pod));
    *maker = Some(AbortOnDropHandle::new(spawn_local(async move {
        // The slurmctld in charge makes them. One that is not makes no partition for a job either.
        let is_in_force = || shared.configured(&id).is_some_and(|now| Rc::ptr_eq(&now, &pod));
        let is_any_made =
            shared.confirm().await.is_ok() && pool::make_all(&id, &pod, missing, is_in_force).await;
        if is_any_made {
            shared.survey(&id);
        }
    })));
}

/// Notes the partitions of ours that the controller has.
fn note_what_is_shown<W: Environment>(shared: &SharedState<W>, id: &PodId, listing: &Listing) {
    for seen in listing.partitions.iter().filter(|seen| !seen.leaving) {
        let known = shared.known(&seen.partition);
        let ours = known.filter(|known| known.owner.get() == PartitionOwner::Ours);
        if let Some(ours) = ours.filter(|ours| ours.home.borrow().as_ref() == Some(id)) {
            ours.calls.listed();
        }
    }
}

/// Asks for the fault of each unusable partition of ours, because a listing does not give it. Returns false
/// if the controller falls silent, because each further call could then last until its deadline.
async fn say_what_is_wrong<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let faulty = listing.partitions.iter_mut().filter_map(|it| Some((&it.partition, it.fault.as_mut()?)));
    for (partition, fault) in faulty.filter(|(partition, _)| shared.known(partition).is_some()) {
        match pod.status(partition).await {
            Ok(PartitionState::Failed(words)) => *fault = words,
            Err(error) if error.failure.is_silence() => return false,
            _ => {}
        }
    }
    true
}

/// Adds the partitions of ours that the listing lacks, unless a status call says that they are gone. A listing
/// may be of one allocation, and not the one in which the job began. The places of these IPUs are unknown.
/// Returns false if the controller falls silent. The partitions that were not asked for count as existing.
async fn add_what_is_not_shown<W: Environment>(
    shared: &SharedState<W>,
    id: &PodId,
    pod: &PodInUse<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let mut answers = true;
    let shown: HashSet<_> = listing.partitions.iter().map(|seen| seen.partition.clone()).collect();
    let is_in_shared = |partition: &PartitionId| {
        pod.settings.shared.is_some() && shared.known(partition).is_some_and(|known| known.stays.get())
    };
    for partition in shared.partitions_of_ours(id).into_iter().filter(|ours| !shown.contains(ours)) {
        if answers && !is_in_shared(&partition) {
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

/// The contact with a controller.
#[derive(Default)]
struct Contact {
    /// The reason why it gives no usable answer.
    trouble: Option<String>,
}

/// A change of the contact that deserves a line in the log.
#[derive(Debug, PartialEq)]
enum News<'a> {
    Back,
    Trouble(&'a CallError),
}

impl Contact {
    /// The news in this answer. Another cause is news, because mending one fault may reveal the next. The
    /// cause that is known already, met by another call, is not news.
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
