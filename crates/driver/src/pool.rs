//! The pool of a model on a controller: partitions that stay, whatever jobs come and go.
//!
//! Those that `Pool` gives by size are made here, one after the other. None is ever removed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use vipu_types::{IpuCount, PartitionId, PodId, Shape};

use crate::pauses::poll_pause;
use crate::pod_in_use::PodInUse;
use crate::shared_state::SharedState;
use crate::{Controller, CreateRequest, Environment, Listing, PartitionState};

/// The knowledge about the pool of a controller that outlives a change of configuration.
#[derive(Default)]
pub(crate) struct ObservedPool {
    /// A task makes partitions.
    is_being_made: Cell<bool>,
    /// The partitions that no job can get, each with the reason that the log has.
    unusable: RefCell<BTreeMap<PartitionId, String>>,
    /// The last reason why a partition could not be made.
    unmade: RefCell<String>,
}

/// Makes the missing partitions of the pool, and reports those that no job can get.
pub(crate) fn keep<W: Environment>(
    shared: &Rc<SharedState<W>>,
    id: &PodId,
    pod: &Rc<PodInUse<W::Controller>>,
    listing: &Listing,
) {
    let Some(pool) = &pod.settings.pool else { return };
    let is_listed = |id: &PartitionId| listing.partitions.iter().any(|seen| seen.partition == *id);
    let mut unusable: BTreeMap<_, _> = unusable(pod, listing).collect();
    let absent = pool.named().filter(|name| !is_listed(name));
    unusable.extend(absent.map(|name| (name.clone(), "there is none of this name".to_owned())));
    tell(id, &pod.observed.pool, unusable);
    let missing: Vec<_> = pool.made(&pod.settings.prefix).filter(|(id, _)| !is_listed(id)).collect();
    if !missing.is_empty() && !pod.observed.pool.is_being_made.replace(true) {
        let (shared, id, pod) = (Rc::clone(shared), id.clone(), Rc::clone(pod));
        spawn_local(async move {
            // A further call to a controller that refuses one would only delay jobs. The next survey brings
            // the next try.
            for (partition, size) in missing {
                let made = make(&shared, &pod, &partition, size).await;
                if !tell_of_create(&id, &pod.observed.pool, &partition, size, made) {
                    break;
                }
            }
            pod.observed.pool.is_being_made.set(false);
            shared.survey(&id);
        });
    }
}

/// The listed partitions of the pool that no job can get, with the reasons.
fn unusable<C>(pod: &PodInUse<C>, listing: &Listing) -> impl Iterator<Item = (PartitionId, String)> {
    let of_pool = listing.partitions.iter().filter(|seen| pod.settings.has_in_pool(&seen.partition));
    of_pool.filter_map(|seen| {
        let in_order = listing.pool.iter().any(|it| it.seen.partition == seen.partition);
        let why = match &seen.fault {
            Some(fault) => fault.clone(),
            None if seen.leaving => "somebody is removing it".to_owned(),
            None if !in_order => format!("it has {} IPUs, which is no power of two", seen.places.len()),
            None => return None,
        };
        Some((seen.partition.clone(), why))
    })
}

/// Logs the changes since the last survey.
fn tell(id: &PodId, observed: &ObservedPool, unusable: BTreeMap<PartitionId, String>) {
    let before = observed.unusable.replace(unusable);
    let now = observed.unusable.borrow();
    for (partition, why) in now.iter().filter(|(partition, why)| before.get(*partition) != Some(*why)) {
        tracing::error!(
            "{id}: no job gets partition {partition} of the pool: {why}; slurm-vipu never removes it: mend it on the \
             controller"
        );
    }
    for partition in before.keys().filter(|partition| !now.contains_key(*partition)) {
        tracing::info!("{id}: partition {partition} of the pool is in order again");
    }
}

/// Logs the end of a create. Returns whether it succeeded.
fn tell_of_create(
    id: &PodId,
    observed: &ObservedPool,
    partition: &PartitionId,
    size: IpuCount,
    made: Result<(), String>,
) -> bool {
    match made {
        Ok(()) => {
            tracing::info!("{id}: partition {partition} of {size} IPUs is made for the pool");
            observed.unmade.take();
            true
        }
        Err(why) => {
            if *observed.unmade.borrow() != why {
                tracing::error!(
                    "{id}: partition {partition} of the pool is not made yet: {why}; trying again"
                );
                observed.unmade.replace(why);
            }
            false
        }
    }
}

/// Makes a partition of the pool, and waits until it is active.
async fn make<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    partition: &PartitionId,
    size: IpuCount,
) -> Result<(), String> {
    shared.confirm().await.map_err(|error| error.to_string())?;
    let settings = &pod.settings;
    let request = CreateRequest {
        partition,
        size,
        domain_size: settings.domain_size,
        shape: Shape { gcds: size.domains(settings.domain_size), ..Shape::default() }
            .by_site(settings.reconfigurable),
        ipus: &[],
        cluster: settings.cluster.as_deref(),
        allocation: settings.allocation.as_deref(),
    };
    pod.controller.create(&request).await.map_err(|error| error.message)?;
    let limit = settings.create_timeout;
    let active = timeout(limit, active(pod, partition)).await;
    active.unwrap_or_else(|_| Err(format!("it is not active after {} s", limit.as_secs())))
}

async fn active<C: Controller>(pod: &PodInUse<C>, partition: &PartitionId) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match pod.status(partition).await.map_err(|error| error.message)? {
            PartitionState::Active => return Ok(()),
            PartitionState::Pending | PartitionState::Resetting => {}
            state => return Err(format!("its controller shows it as {state:?}")),
        }
        sleep(poll_pause(began.elapsed(), None)).await;
    }
}
