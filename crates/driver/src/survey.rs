//! Asking a controller for its IPUs and partitions, now and then and when told to.

use std::rc::Rc;
use std::time::Duration;

use ledger::Event;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::timeout;
use vipu_types::PodId;

use crate::pod::Pod;
use crate::shop::Shop;
use crate::{CallError, Controller, Listing, World};

/// Between surveys that nobody asked for: what changes behind our back is seen this late.
const PERIOD: Duration = Duration::from_secs(30);

/// The same while the controller does not answer: jobs wait for its return.
const PERIOD_UNREACHABLE: Duration = Duration::from_secs(5);

/// The surveys of one Pod, one after the other, until this is dropped.
pub(crate) struct Surveyor {
    /// Remembers one call: what is asked for during a survey makes one more after it.
    wake: Rc<Notify>,
    task: JoinHandle<()>,
}

impl Surveyor {
    /// Starts with a survey at once.
    pub fn start<W: World>(shop: &Rc<Shop<W>>, id: &PodId, pod: &Rc<Pod<W::Controller>>) -> Self {
        let wake = Rc::new(Notify::new());
        let task = spawn_local(surveys(Rc::clone(shop), id.clone(), Rc::clone(pod), Rc::clone(&wake)));
        Self { wake, task }
    }

    /// Asks for a survey that begins after this call.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}

impl Drop for Surveyor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn surveys<W: World>(shop: Rc<Shop<W>>, id: PodId, pod: Rc<Pod<W::Controller>>, wake: Rc<Notify>) {
    let mut contact = Contact::default();
    loop {
        let asked = shop.world.now();
        let answer = pod.controller.survey(&pod.settings).await;
        match contact.news(answer.as_ref()) {
            Some(News::Back) => tracing::info!("controller {} answers again", pod.controller.name()),
            Some(News::Trouble(error)) => {
                tracing::warn!("no IPU job of model {} can start there: {error}", id.model);
            }
            None => {}
        }
        shop.world.report(match answer {
            Ok(listing) => Event::Inventory {
                pod: id.clone(),
                asked,
                ipus: listing.ipus,
                faulty: listing.faulty,
                partitions: listing.partitions,
            },
            Err(error) => Event::Unreachable { pod: id.clone(), reason: error.message },
        });
        let period = if contact.trouble.is_none() { PERIOD } else { PERIOD_UNREACHABLE };
        // Over or asked for, either way the next survey is due.
        let _ = timeout(period, wake.notified()).await;
    }
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
    /// What is new with this answer. When one thing was mended the next may show: another cause is news, another
    /// call that met the same one is none.
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
