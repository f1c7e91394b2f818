//! Plays a seed, from its first job to the moment when nothing may be left.

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use mock_vipu::Effect;
use rand::RngExt;
use rand::seq::IndexedRandom;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};
use vipu_client::wire::PartitionRequirements;
use vipu_types::{IpuCount, ModelName, PartitionId};

use crate::check;
use crate::cluster::{Cluster, Config, Counts, PREFIX};
use crate::controller::{Machine, Maker, Mood};
use crate::end::{self, Leaving};
use crate::endless;
use crate::faults::{Fault, Kind};
use crate::pool;
use crate::restarts;
use crate::schedule::Schedule;
use crate::slurm::Next;

/// The result of a seed.
pub struct Outcome {
    pub digest: u64,
    pub counts: Counts,
    pub virtual_time: Duration,
    /// The time from the end of all faults and jobs until the last trace was gone.
    pub last_trace: Duration,
}

/// Plays a seed. The error has the broken rule and the lines before it. All lines are written to `story`, if
/// that is a path.
pub fn play(schedule: Schedule, story: Option<&Path>) -> Result<Outcome, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let tasks = LocalSet::new();
    runtime.block_on(tasks.run_until(async {
        let began = Instant::now();
        let (outside, mut work) = unbounded_channel();
        let cluster = Cluster::new(schedule, outside, story.is_some());
        spawn_local(async move {
            while let Some(work) = work.recv().await {
                spawn_local(work);
            }
        });
        let breached = tokio::select! {
            biased;
            breach = cluster.check.breached() => Err(breach),
            last_trace = whole(&cluster) => last_trace,
        };
        let outcome = |last_trace| Outcome {
            digest: cluster.check.digest(),
            counts: *cluster.counts.borrow(),
            virtual_time: began.elapsed(),
            last_trace,
        };
        if let Some(path) = story {
            fs::write(path, cluster.check.story()).unwrap();
        }
        breached.map(outcome).map_err(|breach| format!("{}\n{breach}", cluster.check.last_lines()))
    }))
}

async fn whole(cluster: &Rc<Cluster>) -> Result<Duration, String> {
    cluster.start();
    let saving = spawn_local(save(Rc::clone(cluster)));
    tokio::join!(submit_all(cluster), suffer_all(cluster));
    saving.abort();
    if cluster.schedule.is_endless() {
        endless::outlast(cluster).await?;
    }
    end::all_is_well_again(cluster).await;
    end::drain(cluster, Leaving::InTime).await?;
    restarts::in_a_row(cluster).await?;
    end::nothing_is_left(cluster).await
}

async fn save(cluster: Rc<Cluster>) {
    loop {
        sleep(Duration::from_secs(1)).await;
        if cluster.in_charge().is_some() {
            cluster.save();
        }
    }
}

async fn submit_all(cluster: &Rc<Cluster>) {
    for _ in 0..cluster.schedule.jobs {
        sleep(cluster.up_to(2 * cluster.schedule.pause)).await;
        let has_room = cluster.slurm.borrow().jobs.len() < cluster.schedule.most_jobs;
        if let Some(ctld) = cluster.in_charge().filter(|_| has_room) {
            let id = submit(cluster);
            ctld.kick();
            let fate: f64 = cluster.random.borrow_mut().random();
            let time = Instant::now() + cluster.up_to(Duration::from_secs(12));
            match fate {
                ..0.2 => ctld.at(time, move |ctld| ctld.cancel(id)),
                ..0.3 => ctld.at(time, move |ctld| ctld.requeue(id)),
                _ => {}
            }
        }
    }
}

fn submit(cluster: &Cluster) -> u32 {
    let mut random = cluster.random.borrow_mut();
    let models = &cluster.schedule.models;
    let waiting =
        cluster.slurm.borrow().jobs.values().filter(|job| job.model.as_str() == pool::MODEL.0).count();
    // Those that wait for withheld partitions would keep the scheduler from looking at others.
    let is_room = |(model, _): &&(&str, u32)| *model != pool::MODEL.0 || models.len() == 1 || waiting < 4;
    let (model, ipus) = **models.iter().filter(is_room).collect::<Vec<_>>().choose(&mut random).unwrap();
    // Small sizes are more frequent.
    let order = random.random_range(0..=ipus.ilog2()).min(random.random_range(0..=ipus.ilog2()));
    let size = if model == pool::MODEL.0 { *pool::SIZES.choose(&mut random).unwrap() } else { 1 << order };
    let wanted = (ModelName::new(model).unwrap(), IpuCount::new(size).unwrap());
    let length = Duration::from_millis(random.random_range(100..15_000));
    let (user, is_batch) = (random.random_range(1000..1010), random.random_bool(0.7));
    cluster.slurm.borrow_mut().submit(user, is_batch, wanted, length)
}

async fn suffer_all(cluster: &Rc<Cluster>) {
    let began = Instant::now();
    for fault in cluster.schedule.faults.clone() {
        sleep_until(began + fault.at).await;
        cluster.note(format!("*** {:?} for {:?}", fault.kind, fault.length));
        suffer(cluster, &fault).await;
    }
}

async fn suffer(cluster: &Rc<Cluster>, fault: &Fault) {
    let machine = &cluster.machines[fault.pick % cluster.machines.len()];
    let words = || "as the simulation wants it".to_owned();
    match fault.kind {
        Kind::Killed => kill(cluster, false).await,
        Kind::KilledForgetful => kill(cluster, true).await,
        Kind::TakenOver => take_over(cluster).await,
        Kind::Reconfigured => reconfigure(cluster),
        Kind::JournalFull => for_a_while(cluster, fault, |cluster, full| cluster.disk.full.set(full)),
        Kind::FilesRefused => {
            for_a_while(cluster, fault, |cluster, refuses| cluster.shelf.refuses.set(refuses))
        }
        Kind::InMood(mood) => in_mood(cluster, machine, fault, mood),
        Kind::Restarts => in_mood(cluster, machine, fault, Mood::Refuses),
        Kind::Forgets => {
            check::double_owners(&cluster.check, machine);
            machine.forget();
        }
        Kind::CreatesFail => machine.inject(Effect::CreateError { text: words() }),
        Kind::CreatesStick => machine.inject(Effect::CreateStuck),
        Kind::ResetsFail => machine.inject(Effect::ResetError { text: words() }),
        Kind::ResetsStick => machine.inject(Effect::ResetStuck),
        Kind::RemovesFail => machine.inject(Effect::RemoveFail { text: words() }),
        Kind::CreatesSlow => machine.inject(Effect::SlowCreate { factor: 10.0 }),
        Kind::RemovesStick => machine.inject(Effect::RemoveStuck),
        Kind::Breaks => any_of(machine, fault.pick).iter().for_each(|id| machine.break_one(id)),
        Kind::Vanishes => any_of(machine, fault.pick).iter().for_each(|id| machine.vanish(id)),
        Kind::Foreign => {
            foreign(cluster, machine, fault, 900_000 + u32::try_from(fault.pick % 1000).unwrap())
        }
        Kind::ForeignNamesake => {
            let next = cluster.slurm.borrow().next_id;
            foreign(cluster, machine, fault, next + u32::try_from(fault.pick % 8).unwrap());
        }
        Kind::NodeCut => {
            let left = Duration::from_secs(u64::try_from(fault.pick % 900).unwrap());
            cluster.in_charge().iter().for_each(|ctld| ctld.cut_off(fault.pick, left));
        }
    }
}

/// Kills slurmctld, and starts it again some seconds later.
pub async fn kill(cluster: &Rc<Cluster>, forgetful: bool) {
    let Some((ctld, life)) = cluster.ctld.take() else { return };
    ctld.die();
    life.abort();
    let underway = cluster.disk.underway();
    let written = cluster.random.borrow_mut().random_range(0..=underway);
    cluster.disk.crash(written);
    cluster.note(format!("slurmctld was killed; {written} of {underway} entries are on disk"));
    if cluster.chance(0.5) {
        cluster.note(format!("its host has crashed, too: {} files are lost", cluster.shelf.crash()));
    }
    sleep(Duration::from_millis(1_500) + cluster.up_to(Duration::from_secs(6))).await;
    cluster.read_saved(forgetful);
    cluster.start();
}

/// Lets a backup take over. The earlier slurmctld goes on for a while, without Slurm's jobs.
async fn take_over(cluster: &Rc<Cluster>) {
    let Some((ctld, _)) = cluster.ctld.take() else { return };
    ctld.hand_over();
    sleep(Duration::from_millis(1_500) + cluster.up_to(Duration::from_secs(2))).await;
    cluster.read_saved(false);
    cluster.start();
}

fn reconfigure(cluster: &Rc<Cluster>) {
    let config = {
        let mut random = cluster.random.borrow_mut();
        Config {
            rotation: random.random_range(0..2),
            one_less: random.random_bool(0.3),
            force_remove: random.random_bool(0.3),
            max_concurrent_creates: *[1, 2, 64].choose(&mut random).unwrap(),
            ipuof_dir: ["/ipuof", "/other"].choose(&mut random).unwrap(),
            on_partition_error: *[None, Some(Next::Pending), Some(Next::Over)].choose(&mut random).unwrap(),
            ..Config::new(cluster.schedule.placement)
        }
    };
    cluster.config.replace(config);
    if let Some(ctld) = cluster.in_charge() {
        ctld.configure();
    }
}

fn for_a_while(cluster: &Rc<Cluster>, fault: &Fault, set: impl Fn(&Cluster, bool) + 'static) {
    set(cluster, true);
    let (inner, length) = (Rc::clone(cluster), fault.length);
    cluster.outside(async move {
        sleep(length).await;
        set(&inner, false);
    });
}

fn in_mood(cluster: &Rc<Cluster>, machine: &Rc<Machine>, fault: &Fault, mood: Mood) {
    machine.state.mood.set(mood);
    let (machine, length) = (Rc::clone(machine), fault.length);
    cluster.outside(async move {
        sleep(length).await;
        if machine.state.mood.get() == mood {
            machine.state.mood.set(Mood::Well);
        }
    });
}

/// One of the partitions, if there is one.
fn any_of(machine: &Machine, pick: usize) -> Option<PartitionId> {
    let there = machine.partitions();
    let pick = pick % there.len().max(1);
    there.into_iter().nth(pick).map(|(partition, _)| partition)
}

/// Makes a partition for another cluster if there is room, and removes it some time later. An id that this
/// cluster's journal has open is left out, because nothing could tell the two apart.
fn foreign(cluster: &Rc<Cluster>, machine: &Rc<Machine>, fault: &Fault, job: u32) {
    let id = PartitionId::of_run(PREFIX, job, 0).unwrap();
    let wanted =
        PartitionRequirements { id: id.to_string(), size: 1 << (fault.pick % 5), ..Default::default() };
    if cluster.disk.knows(&id) || machine.make(wanted, Maker::Others).is_err() {
        return;
    }
    cluster.note(format!("{id} of others on {}", machine.name));
    let (inner, machine, length) = (Rc::clone(cluster), Rc::clone(machine), 3 * fault.length);
    cluster.outside(async move {
        sleep(length).await;
        if machine.tag(id.as_str()).is_some_and(|tag| tag.maker == Maker::Others) {
            inner.note(format!("others remove {id}"));
            machine.remove(id.as_str(), false);
        }
    });
}
