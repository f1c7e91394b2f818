//! Ledger and driver together, with a controller that fails often and a Slurm that only plays along.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use driver::{Driver, Entry, Handle, Host, MemoryJournal, PodSetup, World, channel};
use ledger::{Action, Claim, Ending, Event, Ledger, Millis, ModelFacts, Placement};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};
use vipu_types::{IpuCount, PodId};

use crate::pod::{Create, Pod, Remove};
use crate::stage::{Log, Shelf, claim, pod_at, settings};

/// What slurmctld is in earnest.
struct Slurm(UnboundedSender<Action>);

impl Host for Slurm {
    fn send(&self, action: Action) {
        self.0.send(action).unwrap();
    }
}

/// What the plugin is in earnest.
struct Plugin {
    ledger: RefCell<Ledger>,
    driver: Handle<Pod>,
    slurm: Slurm,
    journal: MemoryJournal,
    shelf: Shelf,
    began: Instant,
    events: Cell<u64>,
    random: RefCell<StdRng>,
}

impl Plugin {
    fn tell(&self, event: Event) {
        self.events.set(self.events.get() + 1);
        let actions = self.ledger.borrow_mut().apply(self.clock(), event);
        self.driver.route(actions, &self.slurm);
    }

    fn clock(&self) -> Millis {
        Millis(self.began.elapsed().as_millis().try_into().unwrap())
    }

    /// Tells of `event` after at most `longest`.
    fn tell_within(self: &Rc<Self>, longest: Duration, event: Event) {
        let delay = self.random.borrow_mut().random_range(Duration::ZERO..=longest);
        let plugin = Rc::clone(self);
        spawn_local(async move {
            sleep(delay).await;
            plugin.tell(event);
        });
    }
}

struct Outside(Rc<Plugin>);

impl World for Outside {
    type Controller = Pod;
    type Journal = MemoryJournal;
    type Files = Shelf;

    fn journal(&self) -> &MemoryJournal {
        &self.0.journal
    }

    fn files(&self) -> &Shelf {
        &self.0.shelf
    }

    fn now(&self) -> Millis {
        self.0.clock()
    }

    fn report(&self, event: Event) {
        self.0.tell(event);
    }
}

const JOBS: u32 = 300;

fn fini(job: u32) -> Event {
    Event::Fini { job, ending: Ending::Held }
}

/// Starts each job as soon as the ledger has room; some are cancelled soon after.
async fn start_jobs(plugin: Rc<Plugin>) {
    for job in 1..=JOBS {
        let claim = Claim { size: random_size(&plugin), ..claim(job) };
        let controller = loop {
            let fits = plugin.ledger.borrow().fits_now(&claim.model, claim.size);
            match fits {
                Ok(controller) => break controller,
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        plugin.tell(Event::Begin(Claim { controller, ..claim }));
        if plugin.random.borrow_mut().random_bool(0.3) {
            plugin.tell_within(Duration::from_secs(6), fini(job));
        }
    }
}

fn random_size(plugin: &Plugin) -> IpuCount {
    IpuCount::new(1 << plugin.random.borrow_mut().random_range(0..=5)).unwrap()
}

/// Plays Slurm until every job has ended.
async fn serve(plugin: &Rc<Plugin>, mut actions: UnboundedReceiver<Action>) {
    let mut ended = BTreeSet::new();
    while ended.len() < JOBS as usize {
        match actions.recv().await.unwrap() {
            Action::OpenLaunch(claim) => {
                plugin.tell(Event::Launched(claim.partition));
                plugin.tell_within(Duration::from_secs(20), fini(claim.run.job));
            }
            Action::FailRun(claim, _) | Action::SendBack(claim, _) => {
                plugin.tell_within(Duration::from_secs(1), fini(claim.run.job))
            }
            Action::AwaitNodes(claim) => {
                plugin.tell_within(Duration::from_secs(1), Event::NodesDone(claim.partition));
            }
            Action::OpenCompletion { claim, .. } => {
                assert!(ended.insert(claim.run.job), "{} ended twice", claim.run);
                assert_eq!(plugin.ledger.borrow().violations(), []);
            }
            Action::KickScheduler => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The model's Pods.
fn pods() -> [PodId; 2] {
    ["vipu", "vipu2"].map(pod_at)
}

/// A Pod on which every third call goes wrong in some way.
fn bad_pod(random: &mut StdRng) -> Pod {
    let pod = Pod::new(Log::default());
    pod.call_time.set(Duration::from_millis(300));
    let creates = [Create::GoesWrong, Create::Late(Duration::from_secs(4)), Create::Lost, Create::LostReply];
    let creates = [&creates[..], &[Create::NoRoom, Create::Refused, Create::Stuck]].concat();
    let removes = [Remove::Lost, Remove::GoesWrong];
    for _ in 0..2 * JOBS {
        let bad = random.random_bool(0.3);
        let create = if bad { *creates.choose(random).unwrap() } else { Create::Good };
        pod.creates.borrow_mut().push_back(create);
        let bad = random.random_bool(0.3);
        let remove = if bad { *removes.choose(random).unwrap() } else { Remove::Good };
        pod.removes.borrow_mut().push_back(remove);
    }
    pod
}

async fn play(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let controllers = [bad_pod(&mut random), bad_pod(&mut random)];
    let ((driver, orders), (slurm, actions)) = (channel(), unbounded_channel());
    let plugin = Rc::new(Plugin {
        ledger: RefCell::default(),
        driver,
        slurm: Slurm(slurm),
        journal: MemoryJournal::default(),
        shelf: Shelf::default(),
        began: Instant::now(),
        events: Cell::new(0),
        random: RefCell::new(random),
    });
    let settings = settings();
    let setup = |(pod, controller): (PodId, &Pod)| PodSetup {
        pod,
        settings: settings.clone(),
        controller: controller.clone(),
    };
    plugin.driver.configure(pods().into_iter().zip(&controllers).map(setup).collect());
    plugin.tell(Event::Models(vec![ModelFacts {
        model: pods()[0].model.clone(),
        controllers: pods().map(|pod| pod.controller).into(),
        domain_size: settings.domain_size,
        placement: Placement::Controller,
        largest: 64,
        trouble: None,
    }]));

    let tasks = LocalSet::new();
    tasks.spawn_local(Driver::new(Outside(Rc::clone(&plugin)), Vec::new()).run(orders));
    tasks.spawn_local(start_jobs(Rc::clone(&plugin)));
    tasks.run_until(serve(&plugin, actions)).await;

    for controller in &controllers {
        assert_eq!(controller.partitions(), [""; 0], "partitions left");
    }
    assert!(plugin.shelf.there.borrow().is_empty(), "files left");
    assert_eq!(plugin.ledger.borrow().view().claims, []);
    assert_eq!(open_entries(&plugin.journal.take()), BTreeSet::new());
}

/// The partitions the journal still counts as ours.
fn open_entries(entries: &[Entry]) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for entry in entries {
        match entry {
            Entry::Create { claim, .. } | Entry::Remove { claim } => open.insert(claim.partition.to_string()),
            Entry::Created(id) => {
                assert!(open.contains(id.as_str()), "{id} created without intent");
                false
            }
            Entry::Gone(id) => open.remove(id.as_str()),
        };
    }
    open
}

#[tokio::test(start_paused = true)]
async fn nothing_leaks_and_every_job_ends() {
    for seed in 0..4 {
        play(seed).await;
    }
}
