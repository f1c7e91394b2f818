//! The environment of the driver in scripts: controllers, journal, files, and one log of all that happens.
//!
//! A script sets *facts*, for example `write time = 30` or `next create = lost lost`. Each part looks a fact
//! up when it needs it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use driver::{Entry, Environment, Failure, Files, Journal, JournalError, Listing, ModelSettings, PodSetup};
use ledger::{Claim, Event, Millis, Seconds};
use mock_vipu::{Effect, Hardware, Pod, Settings};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use vipu_client::wire::PartitionRequirements;
use vipu_types::{ControllerName, JobRun, PartitionId, PodId, Reason, Words};

use crate::claim::{claim, id, pod};
use crate::controller::{Call, Fate, Line, Machine, Maker, Network, Tag};

/// The state that a script can set and see. It is also the journal and the IPUoF files, in memory.
pub struct Scene {
    pub facts: RefCell<BTreeMap<String, String>>,
    pub log: RefCell<Vec<String>>,
    /// The controllers by host.
    machines: RefCell<BTreeMap<String, Rc<Machine<()>>>>,
    /// The partitions that have files.
    pub files: RefCell<BTreeSet<String>>,
    /// The moment at which the clock of the script showed 0.
    pub zero: Cell<Instant>,
    began: Instant,
    events: UnboundedSender<(Instant, Event)>,
}

impl Scene {
    pub fn new(events: UnboundedSender<(Instant, Event)>) -> Rc<Self> {
        let began = Instant::now();
        Rc::new(Self {
            facts: RefCell::default(),
            log: RefCell::default(),
            machines: RefCell::default(),
            files: RefCell::default(),
            zero: Cell::new(began),
            began,
            events,
        })
    }

    fn fact(&self, name: &str) -> Option<String> {
        self.facts.borrow().get(name).cloned()
    }

    /// Returns a fact that is a time in seconds.
    fn time(&self, name: &str) -> Option<Duration> {
        self.fact(name).map(|seconds| Duration::from_secs_f64(seconds.parse().unwrap()))
    }

    /// Takes the first word from a fact.
    fn next(&self, name: &str) -> Option<String> {
        let mut facts = self.facts.borrow_mut();
        let words = facts.remove(name)?;
        let (first, rest) = words.split_once(' ').unwrap_or((&words, ""));
        // `lost*50` stands for fifty words.
        let (word, times) = first.split_once('*').unwrap_or((first, "1"));
        let left: u32 = times.parse::<u32>().unwrap() - 1;
        let again = if left > 0 { format!("{word}*{left} {rest}") } else { rest.to_owned() };
        if !again.trim().is_empty() {
            facts.insert(name.to_owned(), again.trim().to_owned());
        }
        Some(word.to_owned())
    }

    pub fn note(&self, line: String) {
        self.log.borrow_mut().push(line);
    }

    /// Returns the controller on this host, and creates it if there is none.
    pub fn at(&self, host: &str) -> Rc<Machine<()>> {
        let new = || {
            let usual = Settings::default();
            let settings = Settings {
                create: self.time("make time").unwrap_or(usual.create),
                reset: self.time("reset time"),
                remove: self.time("remove time").unwrap_or(usual.remove),
                removed: self.time("removed time").unwrap_or(usual.removed),
                ..usual
            };
            let pod = Pod::new(Hardware::new(64), settings).unwrap();
            Rc::new(Machine::new(pod_at(host).controller, pod_at(host).model, pod, self.began))
        };
        Rc::clone(self.machines.borrow_mut().entry(host.into()).or_insert_with(new))
    }

    /// Returns an error while a fact says that the files of this partition, or all files, are out of reach.
    fn reach(&self, of: &str) -> Result<(), Words> {
        let why = self.fact("files").or_else(|| self.fact(&format!("files of {of}")));
        why.filter(|why| why != "hang").map_or(Ok(()), |why| Err(why.into()))
    }

    /// Returns the connection to the controller on this host, with these settings.
    pub fn setup(self: &Rc<Self>, host: &str, settings: &ModelSettings) -> PodSetup<Line<Rc<Self>>> {
        let controller = Line { machine: self.at(host), network: Rc::clone(self) };
        PodSetup { pod: pod_at(host), settings: settings.clone(), controller }
    }

    fn note_call(&self, call: Call, partition: Option<&PartitionId>) {
        let id = partition.map(short).unwrap_or_default();
        let line = match call {
            Call::Create => format!("call create {id}"),
            Call::Status => format!("call status {id}"),
            Call::Pending => "call pending".to_owned(),
            Call::Config => format!("call config {id}"),
            Call::Remove => format!("call remove {id}"),
            Call::RemoveByForce => format!("call remove {id} by force"),
            Call::Reset => format!("call reset {id}"),
            Call::Survey => "call survey".to_owned(),
        };
        // The log has only the first of several polls in a row.
        if call != Call::Status || self.log.borrow().iter().rfind(|line| !is_aside(line)) != Some(&line) {
            self.note(line);
        }
    }

    /// Makes partition `job` in the name of another cluster.
    pub fn put(&self, host: &str, job: u32) {
        let wanted = PartitionRequirements { id: id(job).to_string(), size: 1, ..Default::default() };
        self.at(host).make(wanted, Maker::Others).unwrap();
    }
}

/// Returns a partition id as scripts write it.
pub fn short(id: &PartitionId) -> &str {
    id.as_str().trim_start_matches("slurm_")
}

/// Whether a line of the log can come at any time: surveys, probes, and messages to users.
pub fn is_aside(line: &str) -> bool {
    ["call survey", "listing", "away", "trouble over", "told", "probe"]
        .iter()
        .any(|start| line.starts_with(start))
}

impl Network for Rc<Scene> {
    type State = ();
    const TIMEOUT: Duration = Duration::from_secs(1);

    fn noted(&self, partition: &PartitionId, before: Option<JobRun>) {
        let partition = short(partition);
        self.note(match before {
            None => format!("stays {partition}"),
            Some(before) => format!("reused {partition} after {}", before.job),
        });
    }

    fn machine(&self, name: &ControllerName) -> Option<Rc<Machine<()>>> {
        self.machines.borrow().get(name.host()).cloned()
    }

    fn fate(&self, machine: &Machine<()>, call: Call, partition: Option<&PartitionId>) -> Fate {
        self.note_call(call, partition);
        let (queue, time) = match call {
            Call::Create => ("next create", "call time"),
            Call::Status => ("next status", "call time"),
            Call::Pending => ("next pending", "call time"),
            Call::Config => ("next config", ""),
            Call::Remove | Call::RemoveByForce => ("next remove", "call time"),
            Call::Reset => ("next reset", "call time"),
            Call::Survey => ("next survey", "survey time"),
        };
        let time = self.time(time).unwrap_or_default();
        if let Some(silence) = self.time("silent").filter(|_| call == Call::Status) {
            return Fate::Fails(silence, Failure::Unclear, "Unclear");
        }
        let mut next = self.next(queue).unwrap_or_default();
        if call == Call::Create
            && partition.is_some_and(|id| self.fact("refused").as_deref() == Some(short(id)))
        {
            next = "refused".to_owned();
        }
        match next.split_once('-').unwrap_or((&next, "")) {
            ("lost", _) => return Fate::Fails(time, Failure::Unclear, "Unclear"),
            ("unsent", _) => return Fate::Fails(time, Failure::NotSent, "NotSent"),
            ("full", _) => return Fate::Fails(time, Failure::NoRoom, "NoRoom"),
            ("error", _) => return Fate::Fails(time, Failure::Failed, "INTERNAL"),
            ("refused", _) => return Fate::Fails(time, Failure::Refused, "Refused"),
            ("stranger", _) => return Fate::Fails(time, Failure::Stranger, "Stranger"),
            ("unclear", _) => return Fate::Unclear("Unclear"),
            ("late", by) => return Fate::Late(Duration::from_secs_f64(by.parse().unwrap())),
            ("stuck", _) => machine.inject(Effect::CreateStuck),
            ("slow", factor) => machine.inject(Effect::SlowCreate { factor: factor.parse().unwrap() }),
            ("wrong", _) if call == Call::Create => {
                machine.inject(Effect::CreateError { text: "broken link".into() })
            }
            ("wrong", _) if call == Call::Reset => {
                machine.inject(Effect::ResetError { text: "broken link".into() })
            }
            ("wrong", _) => machine.inject(Effect::RemoveFail { text: "broken link".into() }),
            ("", _) => {}
            other => panic!("no result of a call: {other:?}"),
        }
        Fate::After(time)
    }

    fn outside(&self, work: impl Future<Output = ()> + 'static) {
        spawn_local(work);
    }

    fn about_to_make(&self, partition: &PartitionId) -> Maker {
        // A partition of a pool is no run's.
        short(partition).parse().map_or(Maker::Others, |job| Maker::Us(claim(job).run))
    }

    fn change(&self, _: &Machine<()>, listing: &mut Listing) {
        if self.fact("silent").is_some() {
            listing.partitions.clear();
        }
    }
}

impl Files for Scene {
    type Config = Tag;

    async fn probe(&self, directory: &Path) -> Result<(), Words> {
        self.note(format!("probe {}", directory.display()));
        sleep(self.time("probe time").unwrap_or_default()).await;
        self.reach("")
    }

    async fn deliver(&self, directory: &Path, claim: &Claim, _: Tag) -> Result<(), Words> {
        let id = short(&claim.partition);
        self.note(format!("files of {id} to {} for {}", directory.display(), claim.user));
        let hangs = self.fact(&format!("files of {id}")).as_deref() == Some("hang");
        let time = self.time("write time").unwrap_or_default();
        sleep(if hangs { Duration::from_secs(3600) } else { time }).await;
        self.reach(id)?;
        self.files.borrow_mut().insert(id.to_owned());
        Ok(())
    }

    async fn flush(&self, _: &Path, claim: &Claim) -> Result<(), Words> {
        let id = short(&claim.partition);
        sleep(self.time("flush time").unwrap_or_default()).await;
        match self.next("next flush").as_deref() {
            Some("lost") => {
                self.files.borrow_mut().remove(id);
                Err("Input/output error".into())
            }
            _ => self.reach(id),
        }
    }

    async fn withdraw(&self, directory: &Path, claim: &Claim) -> Result<(), Words> {
        let id = short(&claim.partition);
        self.reach(id)?;
        self.note(format!("files of {id} off {}", directory.display()));
        self.files.borrow_mut().remove(id);
        Ok(())
    }
}

impl Journal for Scene {
    async fn confirm(&self) -> Result<(), JournalError> {
        let path = Path::new("/state/vipu_journal");
        match self.fact("journal").as_deref() {
            None => Ok(()),
            Some("blind") => Err(JournalError::blind(path, &"Stale file handle")),
            Some(why) => Err(JournalError::new(path, "write it", &why)),
        }
    }

    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.confirm().await?;
        let line = match &entry {
            Entry::Create { claim, .. } => {
                if let Some(delay) = self.time(&format!("journal delay of {}", short(&claim.partition))) {
                    sleep(delay).await;
                }
                format!("journal create {}", short(&claim.partition))
            }
            Entry::Created(id) => format!("journal created {}", short(id)),
            Entry::Launched { partition, at } => format!("journal launched {} at {}", short(partition), at.0),
            Entry::Ended { partition, ended } => {
                format!("journal ended {} at {}", short(partition), ended.at.0)
            }
            Entry::Kept { partition, until } => {
                format!("journal kept {} until {}", short(partition), until.0)
            }
            Entry::Remove { claim, .. } => format!("journal remove {}", short(&claim.partition)),
            Entry::Withheld { claim, stays, until, .. } => {
                let what = if *stays { "withheld in pool" } else { "withheld" };
                format!("journal {what} {} until {}", short(&claim.partition), until.0)
            }
            Entry::Gone(id) => format!("journal gone {}", short(id)),
        };
        self.note(line);
        Ok(())
    }
}

/// The environment of the driver.
pub struct Outside(pub Rc<Scene>);

impl Environment for Outside {
    type Controller = Line<Rc<Scene>>;
    type Journal = Scene;
    type Files = Scene;

    fn journal(&self) -> &Scene {
        &self.0
    }

    fn files(&self) -> &Scene {
        &self.0
    }

    fn now(&self) -> Millis {
        Millis(self.0.began.elapsed().as_millis().try_into().unwrap())
    }

    fn unix_time(&self) -> Seconds {
        Seconds(self.0.began.elapsed().as_secs().try_into().unwrap())
    }

    fn tell(&self, run: JobRun, progress: Reason) {
        self.0.note(format!("told {run}: {}", progress.line));
    }

    fn show(&self, run: JobRun, progress: Reason) {
        self.0.note(format!("told {run}, in squeue: {}", progress.line));
    }

    fn report(&self, event: Event) {
        self.0.note(in_words(&event));
        // The receiver is gone once the script is over.
        let _ = self.0.events.send((Instant::now(), event));
    }
}

/// Returns an event as scripts write it.
pub fn in_words(event: &Event) -> String {
    match event {
        Event::CreateStarted(id) => format!("started {}", short(id)),
        Event::Up(id) => format!("up {}", short(id)),
        Event::CreateFailed { partition, reason } => format!("failed {}: {reason}", short(partition)),
        Event::CreatePutOff { partition, reason } => format!("put off {}: {reason}", short(partition)),
        Event::CreateCancelled(id) => format!("cancelled {}", short(id)),
        Event::Gone(id) => format!("gone {}", short(id)),
        Event::Idle(id) => format!("idle {}", short(id)),
        Event::NotIdle(id) => format!("not idle {}", short(id)),
        Event::NoRoom(id) => format!("no room {}", short(id)),
        Event::KeepRecorded(id) => format!("kept {}", short(id)),
        Event::Trouble { reason: Some(reason), .. } => format!("trouble: {reason}"),
        Event::Trouble { .. } => "trouble over".into(),
        Event::Refuses { reason, .. } => format!("refuses: {}", reason.as_deref().unwrap_or("no more")),
        Event::Pool { partitions, .. } => format!("pool of {}", partitions.len()),
        Event::Unreachable { pod, reason } => format!("away {}: {reason}", pod.controller.host()),
        Event::Inventory { pod, asked: Millis(asked), partitions, .. } => {
            let ids: String = partitions.iter().map(|seen| format!(" {}", short(&seen.partition))).collect();
            format!("listing of {} asked {}:{ids}", pod.controller.host(), asked / 1000)
        }
        other => format!("{other:?}"),
    }
}

/// Returns the Pod of the model's controller on this host.
pub fn pod_at(host: &str) -> PodId {
    PodId { controller: format!("{host}:8090").parse().unwrap(), ..pod() }
}
