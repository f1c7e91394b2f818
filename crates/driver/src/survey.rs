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
use crate::{Controller, World};

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
    let mut reachable = true;
    loop {
        let asked = shop.world.now();
        let answer = pod.controller.survey(&pod.settings).await;
        if reachable != answer.is_ok() {
            reachable = answer.is_ok();
            match &answer {
                Ok(_) => tracing::info!("controller {} answers again", pod.controller.name()),
                Err(error) => tracing::warn!("no IPU job of model {} can start there: {error}", id.model),
            }
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
        let period = if reachable { PERIOD } else { PERIOD_UNREACHABLE };
        // Over or asked for, either way the next survey is due.
        let _ = timeout(period, wake.notified()).await;
    }
}
