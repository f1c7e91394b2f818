//! The rest of the world, and one log of all that happens in it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use driver::{
    Driver, Entry, Environment, Files, FilesError, Handle, Host, Journal, JournalError, LiveRecord,
    ModelSettings, PodSetup, Stage, channel,
};
use ledger::{Action, Claim, DriverAction, Event, HostAction, Millis};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};

use crate::pod::Pod;
use crate::settings::settings;

/// What happened, in order, without surveys.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub fn add(&self, line: String) {
        self.0.borrow_mut().push(line);
    }

    /// Adds a line unless it repeats the last one: of many polls the first shows.
    pub fn add_once(&self, line: String) {
        let is_repeated = self.0.borrow().iter().rev().find(|line| !line.contains("survey")) == Some(&line);
        if !is_repeated {
            self.add(line);
        }
    }

    /// The lines so far that do not speak of surveys.
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().iter().filter(|line| !line.contains("survey")).cloned().collect()
    }

    /// Those of them that begin so.
    pub fn beginning(&self, with: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.starts_with(with)).collect()
    }

    pub fn count(&self, line: &str) -> usize {
        self.0.borrow().iter().filter(|known| *known == line).count()
    }
}

/// Files in memory.
#[derive(Clone, Default)]
pub struct Shelf {
    pub there: Rc<RefCell<BTreeSet<String>>>,
    /// How long a write takes.
    pub write_time: Rc<Cell<Duration>>,
    /// Whose files hang for an hour.
    pub hanging: Rc<RefCell<BTreeSet<String>>>,
    /// Why no file can be written or deleted.
    pub refusal: Rc<RefCell<Option<String>>>,
    /// Why those of one partition cannot.
    pub refuses_one: Rc<RefCell<Option<(PartitionId, String)>>>,
    /// The probes take so long.
    pub probe_time: Rc<Cell<Duration>>,
    /// How many there were of each directory.
    pub probes: Rc<RefCell<BTreeMap<PathBuf, u32>>>,
    log: Log,
}

impl Shelf {
    fn reach(&self, partition: Option<&PartitionId>) -> Result<(), FilesError> {
        let of_one = self.refuses_one.borrow().clone().filter(|(id, _)| Some(id) == partition);
        let why = self.refusal.borrow().clone().or(of_one.map(|(_, why)| why));
        why.map_or(Ok(()), |why| Err(FilesError(why)))
    }
}

impl Files for Shelf {
    type Config = String;

    async fn probe(&self, directory: &Path) -> Result<(), FilesError> {
        *self.probes.borrow_mut().entry(directory.to_owned()).or_default() += 1;
        sleep(self.probe_time.get()).await;
        self.reach(None)
    }

    async fn deliver(&self, directory: &Path, claim: &Claim, config: String) -> Result<(), FilesError> {
        let id = &claim.partition;
        self.log.add(format!("files written to {} for {}: {config}", directory.display(), claim.user));
        let hangs = self.hanging.borrow().contains(id.as_str());
        sleep(if hangs { Duration::from_secs(3600) } else { self.write_time.get() }).await;
        self.reach(Some(id))?;
        self.there.borrow_mut().insert(id.to_string());
        Ok(())
    }

    async fn withdraw(&self, directory: &Path, claim: &Claim) -> Result<(), FilesError> {
        self.reach(Some(&claim.partition))?;
        self.log.add(format!("files of {} deleted from {}", claim.partition, directory.display()));
        self.there.borrow_mut().remove(claim.partition.as_str());
        Ok(())
    }
}

/// A journal that logs.
struct Notes {
    log: Log,
    late: Late,
    trouble: JournalTrouble,
}

/// Why nothing can be recorded.
type JournalTrouble = Rc<RefCell<Option<JournalError>>>;

/// Whose intent to create is recorded late, and how late.
type Late = Rc<RefCell<BTreeMap<PartitionId, Duration>>>;

impl Journal for Notes {
    async fn confirm(&self) -> Result<(), JournalError> {
        self.trouble.borrow().clone().map_or(Ok(()), Err)
    }

    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.confirm().await?;
        if let Entry::Create { claim, .. } = &entry {
            let late = self.late.borrow().get(&claim.partition).copied();
            if let Some(time) = late {
                sleep(time).await;
            }
        }
        self.log.add(match entry {
            Entry::Create { claim, .. } => format!("journal create {}", claim.partition),
            Entry::Created(id) => format!("journal created {id}"),
            Entry::Launched { partition, at } => format!("journal launched {partition} at {}", at.0),
            Entry::Kept { partition, until } => format!("journal kept {partition} until {}", until.0),
            Entry::Remove { claim } => format!("journal remove {}", claim.partition),
            Entry::Gone(id) => format!("journal gone {id}"),
        });
        Ok(())
    }
}

struct Outside {
    log: Log,
    notes: Notes,
    shelf: Shelf,
    began: Instant,
    told: Told,
    events: UnboundedSender<(Duration, Event)>,
}

/// What was said to users at their terminals.
type Told = Rc<RefCell<Vec<String>>>;

impl Environment for Outside {
    type Controller = Pod;
    type Journal = Notes;
    type Files = Shelf;

    fn journal(&self) -> &Notes {
        &self.notes
    }

    fn files(&self) -> &Shelf {
        &self.shelf
    }

    fn now(&self) -> Millis {
        Millis(self.began.elapsed().as_millis().try_into().unwrap())
    }

    fn tell(&self, run: JobRun, line: String) {
        self.told.borrow_mut().push(format!("{run}: {line}"));
    }

    fn show(&self, run: JobRun, line: String) {
        self.told.borrow_mut().push(format!("{run}, in squeue: {line}"));
    }

    fn report(&self, event: Event) {
        self.log.add(match &event {
            Event::CreateStarted(id) => format!("event started {id}"),
            Event::Up(id) => format!("event up {id}"),
            Event::CreateFailed { partition, reason } => format!("event failed {partition}: {reason}"),
            Event::CreatePutOff { partition, reason } => format!("event put off {partition}: {reason}"),
            Event::CreateCancelled(id) => format!("event cancelled {id}"),
            Event::Gone(id) => format!("event gone {id}"),
            Event::NoRoom(id) => format!("event no room {id}"),
            Event::KeepRecorded(id) => format!("event keep recorded {id}"),
            Event::Trouble { reason: Some(reason), .. } => format!("event trouble: {reason}"),
            Event::Trouble { .. } => "survey: no trouble".into(),
            Event::Refuses { reason, .. } => format!("event refuses: {reason:?}"),
            other => format!("survey: {other:?}"),
        });
        // A test that has seen enough has dropped its end.
        let _ = self.events.send((self.began.elapsed(), event));
    }
}

/// A host that must not be asked for anything.
struct NoHost;

impl Host for NoHost {
    fn send(&self, action: HostAction) {
        panic!("not the driver's to hand on: {action:?}");
    }
}

/// A driver at work, and all that it touches.
pub struct Harness {
    pub log: Log,
    pub pod: Pod,
    pub shelf: Shelf,
    pub late_notes: Late,
    pub journal_trouble: JournalTrouble,
    pub settings: ModelSettings,
    pub told: Told,
    handle: Handle<Pod>,
    began: Instant,
    events: UnboundedReceiver<(Duration, Event)>,
}

/// Plays `scene` with a driver that knows the partitions `live`.
pub async fn play(live: Vec<LiveRecord>, scene: impl AsyncFnOnce(&mut Harness)) {
    let (log, began) = (Log::default(), Instant::now());
    let shelf = Shelf { log: log.clone(), ..Shelf::default() };
    let (handle, orders) = channel();
    let (sender, events) = unbounded_channel();
    let (late_notes, pod) = (Late::default(), Pod::new(log.clone()));
    let journal_trouble = JournalTrouble::default();
    let notes = Notes { log: log.clone(), late: late_notes.clone(), trouble: Rc::clone(&journal_trouble) };
    let told = Told::default();
    let outside = Outside {
        log: log.clone(),
        notes,
        shelf: shelf.clone(),
        began,
        told: Rc::clone(&told),
        events: sender,
    };
    let driver = Driver::new(outside, live);
    let mut harness = Harness {
        log,
        pod,
        shelf,
        late_notes,
        journal_trouble,
        settings: settings(),
        told,
        handle,
        began,
        events,
    };
    harness.configure();
    tokio::select! {
        biased;
        () = scene(&mut harness) => {}
        ended = driver.run(orders) => panic!("the driver ended by itself: {ended:?}"),
    }
}

/// The Pod of the model's controller on this host.
pub fn pod_at(host: &str) -> PodId {
    let controller = format!("{host}:8090").parse().unwrap();
    PodId { model: ModelName::new("pod64").unwrap(), controller }
}

/// The Pod that everything here is about, unless it says otherwise.
pub fn pod() -> PodId {
    pod_at("vipu")
}

pub fn id(job: u32) -> PartitionId {
    PartitionId::of_run("slurm", job, 0).unwrap()
}

pub fn claim(job: u32) -> Claim {
    let run = JobRun { job, restart: 0, start: 1_700_000_000 };
    let PodId { model, controller } = pod();
    Claim {
        partition: id(job),
        run,
        user: 1000 + job,
        model,
        controller,
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: None,
        ipus: vec![],
    }
}

/// What the journal of an earlier slurmctld has of partition `job`.
pub fn record(job: u32, ipuof_dir: &str, stage: Stage) -> LiveRecord {
    let ipuof_dir = Some(PathBuf::from(ipuof_dir));
    LiveRecord { claim: claim(job), ipuof_dir, stage, kept_until: None, launched: None }
}

impl Harness {
    /// Takes `self.settings` into use.
    pub fn configure(&self) {
        let (settings, controller) = (self.settings.clone(), self.pod.clone());
        self.handle.configure(vec![PodSetup { pod: pod(), settings, controller }]);
    }

    /// The controller on this host, a new one when there is none.
    pub fn at(&self, host: &str) -> Pod {
        let network = &self.pod.network;
        let new = || Pod::on(network, self.log.clone());
        network.borrow_mut().entry(host.into()).or_insert_with(new).clone()
    }

    /// Takes the controllers on these hosts into use.
    pub fn configure_hosts(&self, hosts: &[&str]) {
        let setup = |host: &&str| PodSetup {
            pod: pod_at(host),
            settings: self.settings.clone(),
            controller: self.at(host),
        };
        self.handle.configure(hosts.iter().map(setup).collect());
    }

    pub fn unconfigure(&self) {
        self.handle.configure(Vec::new());
    }

    pub fn act(&self, action: Action) {
        self.handle.route([action], &NoHost);
    }

    /// Has partition `job` made.
    pub async fn up(&mut self, job: u32) {
        self.act(Action::Driver(DriverAction::Create(claim(job))));
        assert_eq!(self.answer().await.1, Event::Up(id(job)));
    }

    /// Has partition `job` removed.
    pub async fn gone(&mut self, job: u32) {
        self.act(Action::Driver(DriverAction::Remove(claim(job))));
        assert_eq!(self.event().await.1, Event::Gone(id(job)));
    }

    /// The time since the scene began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The next event that is no survey's and not just the news that a try found no room, and when it came.
    pub async fn event(&mut self) -> (Duration, Event) {
        loop {
            let (when, event) = self.events.recv().await.unwrap();
            let is_of_all = matches!(
                event,
                Event::Inventory { .. }
                    | Event::Unreachable { .. }
                    | Event::NoRoom(_)
                    | Event::Trouble { .. }
                    | Event::Refuses { .. }
            );
            if !is_of_all {
                return (when, event);
            }
        }
    }

    /// The next answer of a survey, and when it came.
    pub async fn survey(&mut self) -> (Duration, Event) {
        loop {
            let (when, event) = self.events.recv().await.unwrap();
            if matches!(event, Event::Inventory { .. } | Event::Unreachable { .. }) {
                return (when, event);
            }
        }
    }

    /// The next answer to any create, without the news that one has started.
    pub async fn answer(&mut self) -> (Duration, Event) {
        loop {
            match self.event().await {
                (_, Event::CreateStarted(_)) => {}
                answer => return answer,
            }
        }
    }

    /// Says when the last of these creates came up; all of them do.
    pub async fn all_up(&mut self, jobs: RangeInclusive<u32>) -> Duration {
        let mut last = Duration::ZERO;
        for _ in jobs {
            let (when, event) = self.answer().await;
            assert!(matches!(event, Event::Up(_)), "{event:?}");
            last = when;
        }
        last
    }

    /// Lets `time` pass.
    pub async fn pass(&self, time: Duration) {
        sleep(time).await;
    }
}
