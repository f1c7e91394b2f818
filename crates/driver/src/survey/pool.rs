//! The pool of a model on a controller: partitions that stay, whatever jobs come and go.
//!
//! Those that `Pool` gives by size are made here, one after the other. None is ever removed.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use vipu_types::{IpuCount, PartitionId, PodId, Shape, Words, words};

use crate::pauses::poll_pause;
use crate::pod_in_use::{ObservedPool, PodInUse};
use crate::shared_state::SharedState;
use crate::tracked::PartitionOwner;
use crate::{CallError, Controller, CreateRequest, Environment, Failure, Listing, PartitionState};

/// The reason why no job gets a partition of the administrator that the controller does not list.
const ABSENT: &str = "there is none of this name";

/// Makes the missing partitions of the pool, unless a task does so already.
pub(super) fn keep<W: Environment>(
    shared: &Rc<SharedState<W>>,
    pod: &Rc<PodInUse<W::Controller>>,
    listing: &Listing,
) {
    // The job of a partition that vanished hears of it before there is a new one of its name.
    let is_of_a_run = |partition: &PartitionId| {
        shared.known(partition).is_some_and(|known| known.owner.get() == PartitionOwner::Ours)
    };
    let mut missing = missing(pod, listing);
    missing.retain(|(partition, _)| !is_of_a_run(partition));
    let mut maker = pod.observed.pool.maker.borrow_mut();
    if missing.is_empty() || maker.as_ref().is_some_and(|maker| !maker.is_finished()) {
        return;
    }
    let (shared, pod) = (Rc::clone(shared), Rc::clone(pod));
    *maker = Some(AbortOnDropHandle::new(spawn_local(async move {
        // The slurmctld in charge makes them. One that is not makes no partition for a job either.
        let is_in_force = || shared.configured(&pod.id).is_some_and(|now| Rc::ptr_eq(&now, &pod));
        let is_any_made =
            shared.resources.confirm().await.is_ok() && make_all(&pod, missing, is_in_force).await;
        if is_any_made {
            shared.survey(&pod.id);
        }
    })));
}

/// Logs the partitions of the pool that no job can get. Returns those that are to be made.
fn missing<C>(pod: &PodInUse<C>, listing: &Listing) -> Vec<(PartitionId, IpuCount)> {
    let Some(pool) = &pod.settings.pool else { return Vec::new() };
    let listed: HashSet<_> = listing.partitions.iter().map(|seen| &seen.partition).collect();
    let is_listed = |id: &PartitionId| listed.contains(id);
    let mut unusable: BTreeMap<_, _> = unusable(pod, listing).collect();
    let absent = pool.named().filter(|name| !is_listed(name));
    unusable.extend(absent.map(|name| (name.clone(), ABSENT.into())));
    tell(&pod.id, &pod.observed.pool, unusable);
    pool.made().filter(|(id, _)| !is_listed(id)).collect()
}

/// The partitions of the pool that the controller does not have, with the reasons.
pub(super) fn absent<C>(pod: &PodInUse<C>, listing: &Listing) -> BTreeMap<PartitionId, Words> {
    let Some(pool) = &pod.settings.pool else { return BTreeMap::new() };
    let listed: HashSet<_> = listing.partitions.iter().map(|seen| &seen.partition).collect();
    let named = pool.named().map(|name| (name.clone(), ABSENT.into()));
    let unmade = pod.observed.pool.unmade.borrow();
    let why = |id: &PartitionId| unmade.get(id).cloned().unwrap_or_else(|| "it is being made".into());
    let made = pool.made().map(|(id, _)| (id.clone(), why(&id)));
    named.chain(made).filter(|(id, _)| !listed.contains(id)).collect()
}

/// Makes partitions of the pool, one after the other, while the configuration `is_in_force`. If there is no room for one,
/// smaller ones are still tried. The next survey brings the next try. Returns whether any was made.
async fn make_all<C: Controller>(
    pod: &PodInUse<C>,
    missing: Vec<(PartitionId, IpuCount)>,
    is_in_force: impl Fn() -> bool,
) -> bool {
    let (mut is_any_made, mut without_room) = (false, None);
    for (partition, size) in missing {
        if !is_in_force() {
            break;
        }
        if without_room.is_some_and(|smallest| size >= smallest) {
            continue;
        }
        let made = make(pod, &partition, size).await;
        if made.as_ref().is_err_and(|why| why.failure == Failure::NoRoom) {
            without_room = Some(size);
        }
        is_any_made |= tell_of_create(pod, &partition, size, made.map_err(|why| why.message));
    }
    is_any_made
}

/// The listed partitions of the pool that no job can get, with the reasons.
fn unusable<C>(pod: &PodInUse<C>, listing: &Listing) -> impl Iterator<Item = (PartitionId, Words)> {
    let of_pool = listing.partitions.iter().filter(|seen| pod.settings.has_in_pool(&seen.partition));
    of_pool.filter_map(|seen| {
        let why = match &seen.fault {
            Some(fault) => fault.clone(),
            None if seen.leaving => "somebody is removing it".into(),
            None => Words::of(IpuCount::new(seen.places.len() as u64).err()?),
        };
        Some((seen.partition.clone(), why))
    })
}

/// Logs the changes since the last survey.
fn tell(id: &PodId, observed: &ObservedPool, unusable: BTreeMap<PartitionId, Words>) {
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
fn tell_of_create<C>(
    pod: &PodInUse<C>,
    partition: &PartitionId,
    size: IpuCount,
    made: Result<(), Words>,
) -> bool {
    let (id, unmade) = (&pod.id, &pod.observed.pool.unmade);
    match made {
        Ok(()) => {
            tracing::info!("{id}: partition {partition} of {size} IPUs is made for the pool");
            unmade.borrow_mut().remove(partition);
            true
        }
        Err(why) => {
            let before = unmade.borrow_mut().insert(partition.clone(), why.clone());
            if before.as_ref() != Some(&why) {
                tracing::error!(
                    "{id}: partition {partition} of the pool is not made yet: {why}; trying again"
                );
            }
            false
        }
    }
}

/// Makes a partition of the pool, and waits until it is active.
async fn make<C: Controller>(
    pod: &PodInUse<C>,
    partition: &PartitionId,
    size: IpuCount,
) -> Result<(), CallError> {
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
    pod.controller.create(&request).await?;
    let limit = settings.create_timeout;
    let active = timeout(limit, active(pod, partition)).await;
    active.unwrap_or_else(|_| Err(broken(words!("it is not active after {} s", limit.as_secs()))))
}

fn broken(message: Words) -> CallError {
    CallError { failure: Failure::Unclear, cause: message.clone(), message }
}

async fn active<C: Controller>(pod: &PodInUse<C>, partition: &PartitionId) -> Result<(), CallError> {
    let began = Instant::now();
    loop {
        match pod.status(partition).await? {
            PartitionState::Active => return Ok(()),
            PartitionState::Pending | PartitionState::Resetting => {}
            state => return Err(broken(words!("its controller shows it as {state:?}"))),
        }
        sleep(poll_pause(began.elapsed(), None)).await;
    }
}
