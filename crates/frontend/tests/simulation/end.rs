//! The end of a seed: all faults stop, every job comes to its end, and nothing may be left.
//!
//! The limits allow for the promise of `SPECIFICATION.md`: 60 s after everything is up.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use vipu_types::{ControllerName, PartitionId};

use crate::check;
use crate::cluster::{CREATE_TIMEOUT, Cluster, Config};
use crate::controller::{API_TIMEOUT, Maker, Tag};
use crate::pool;
use crate::slurm::{Job, State};
use crate::slurmctld::REMOVE_WAIT;

/// The promised time until a partition without an owner is gone.
const PROMISE: Duration = Duration::from_secs(60);

/// The longest time for which a job may wait for its partition, regardless of other jobs: CreateTimeout, and
/// the last calls.
const CONFIGURING: Duration = Duration::from_secs(CREATE_TIMEOUT.as_secs() + 2 * API_TIMEOUT.as_secs() + 5);

/// The longest time for which a job may be ending. Its nodes may be done only after RemoveWait.
const COMPLETING: Duration = Duration::from_secs(2 * REMOVE_WAIT.as_secs() + 5);

/// The time for which the journal keeps a partition whose create call was never answered.
const WATCHED: Duration = Duration::from_secs(600);

/// The longest time for all jobs together. An IPU that a controller refused without reason is not used for up
/// to an hour.
const DRAIN: Duration = Duration::from_secs(7200);

/// Ends all faults, and waits until calls under way have taken effect.
pub async fn all_is_well_again(cluster: &Rc<Cluster>) {
    cluster.note("*** all is well again");
    cluster.disk.full.set(false);
    cluster.shelf.refuses.set(false);
    cluster.config.replace(Config::new(cluster.schedule.placement));
    for machine in &cluster.machines {
        machine.calm();
        for (partition, tag) in machine.partitions() {
            if tag.maker == Maker::Others {
                machine.vanish(&partition);
            }
        }
    }
    if let Some(ctld) = cluster.in_charge() {
        ctld.configure();
    }
    for machine in &cluster.machines {
        sleep_until(machine.settled.get()).await;
    }
}

/// The fate of partitions without an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They are gone within the time promised.
    InTime,
    /// They may stay as long as their controller does nothing.
    MayStay,
}

/// Waits until every job has ended.
pub async fn drain(cluster: &Rc<Cluster>, leaving: Leaving) -> Result<(), String> {
    let (calm, mut leaks) = (Instant::now(), Leaks::new());
    loop {
        cluster.slurm.borrow_mut().jobs.retain(|_, job| job.state != State::Held);
        if cluster.slurm.borrow().jobs.is_empty() {
            return Ok(());
        }
        for job in cluster.slurm.borrow().jobs.values() {
            if let Some(longest) = longest(job).filter(|longest| job.since.max(calm).elapsed() > *longest) {
                return Err(format!("{:?} has been {:?} for more than {longest:?}", job.run(), job.state));
            }
        }
        if leaving == Leaving::InTime {
            no_leak(cluster, &mut leaks)?;
        }
        if calm.elapsed() > DRAIN {
            return Err(format!("still there: {:?}", cluster.slurm.borrow().jobs));
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// The longest time in a job's state. None for states that other jobs or people have to end.
fn longest(job: &Job) -> Option<Duration> {
    match job.state {
        State::Pending | State::Held => None,
        State::Configuring => Some(CONFIGURING),
        State::Running => Some(job.length + Duration::from_secs(10)),
        State::Completing(_) => Some(COMPLETING),
    }
}

/// The time since which a partition has no owner.
type Leaks = BTreeMap<(ControllerName, PartitionId), Instant>;

/// Checks that every partition of this cluster belongs to a run that has nodes, or had or will have them
/// soon.
fn no_leak(cluster: &Cluster, leaks: &mut Leaks) -> Result<(), String> {
    let before = std::mem::take(leaks);
    for machine in &cluster.machines {
        for (partition, Tag { maker, .. }) in machine.partitions() {
            let Maker::Us(run) = maker else { continue };
            if pool::has(&partition) {
                continue;
            }
            let jobs = &cluster.slurm.borrow().jobs;
            let has_nodes = |job: &Job| !matches!(job.state, State::Pending | State::Held);
            if jobs.get(&run.job).is_some_and(|job| has_nodes(job) && job.has(&partition, run)) {
                continue;
            }
            let place = (machine.name.clone(), partition);
            let since = before.get(&place).copied().unwrap_or_else(Instant::now);
            if since.elapsed() > PROMISE {
                return Err(format!("{} of {run:?} is leaked: nobody owns it for {PROMISE:?}", place.1));
            }
            leaks.insert(place, since);
        }
    }
    Ok(())
}

/// Waits until all is gone, which has to be within the promised time after the last job. Returns the time
/// that it took.
pub async fn nothing_is_left(cluster: &Rc<Cluster>) -> Result<Duration, String> {
    let gone = wait_for_none(PROMISE, || left(cluster)).await?;
    wait_for_none(WATCHED + PROMISE, || cluster.disk.open_entries()).await?;
    for machine in &cluster.machines {
        check::double_owners(&cluster.check, machine);
    }
    Ok(gone)
}

/// Waits until nothing is left. Returns the time that it took.
async fn wait_for_none(longest: Duration, left: impl Fn() -> Vec<String>) -> Result<Duration, String> {
    let began = Instant::now();
    loop {
        let left = left();
        if left.is_empty() {
            return Ok(began.elapsed());
        }
        if began.elapsed() > longest {
            return Err(format!("left after {longest:?}: {}", left.join(", ")));
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// Every trace of this cluster except in the journal.
fn left(cluster: &Cluster) -> Vec<String> {
    let partitions = cluster.machines.iter().flat_map(|machine| {
        let of_whom =
            |(id, tag): (PartitionId, Tag)| format!("partition {id} of {:?} on {}", tag.maker, machine.name);
        machine.partitions().into_iter().filter(|(id, _)| !pool::has(id)).map(of_whom)
    });
    let files = cluster.shelf.files().into_iter().map(|file| format!("file {file}"));
    let claims = cluster.in_charge().map_or(Vec::new(), |ctld| ctld.claims());
    partitions.chain(files).chain(claims).collect()
}
