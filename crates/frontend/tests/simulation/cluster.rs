//! The parts of one seed that outlive a slurmctld, and the connections between all parts.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Display;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use driver::ModelSettings;
use frontend::{Model, Models};
use ledger::{Placement, Seconds};
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vipu_types::{ControllerName, Grant, IpuCount, JobRun, ModelName};

use crate::check::Check;
use crate::controller::{self, Machine, Maker};
use crate::disk::{Disk, Shelf};
use crate::pool::{self, Processes};
use crate::schedule::Schedule;
use crate::settings::settings;
use crate::slurm::{Job, Next, Slurm, State, is_of};
use crate::slurmctld::{REMOVE_WAIT, Slurmctld};

/// PartitionPrefix of this cluster and of other clusters.
pub const PREFIX: &str = "slurm";

/// CreateTimeout.
pub const CREATE_TIMEOUT: Duration = Duration::from_secs(30);

/// ReconcileInterval.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(30);

/// KeepIdle in seconds. A listing notices the end of this time.
const KEEP_IDLE: u32 = 15;

/// Slurm's clock when a seed begins.
const EPOCH: i64 = 1_700_000_000;

/// The number of saved states of Slurm that are kept, one a second.
const SAVED: usize = 5;

/// vipu.conf, as far as it changes during a seed.
#[derive(Clone, Debug)]
pub struct Config {
    /// The number by which the controllers of a model are rotated.
    pub rotation: usize,
    /// Whether the last controller of a model is missing in its list.
    pub one_less: bool,
    pub force_remove: bool,
    pub max_concurrent_creates: usize,
    pub ipuof_dir: &'static str,
    pub placement: Placement,
    /// The end of a batch job whose partition fails while it runs. None: it runs on.
    pub on_partition_error: Option<Next>,
}

impl Config {
    pub fn new(placement: Placement) -> Self {
        Self {
            rotation: 0,
            one_less: false,
            force_remove: false,
            max_concurrent_creates: 64,
            ipuof_dir: "/ipuof",
            placement,
            on_partition_error: None,
        }
    }

    /// Returns vipu.conf of a model with these controllers.
    fn text(&self, model: &ModelName, controllers: &str, schedule: &Schedule) -> String {
        let placement = match self.placement {
            Placement::Controller => "Placement=controller",
            Placement::Explicit => "Placement=explicit Cluster=cluster",
        };
        let on_partition_error = match self.on_partition_error {
            None => "leave",
            Some(Next::Over) => "kill",
            Some(Next::Pending | Next::Held) => "requeue",
        };
        if model.as_str() == pool::MODEL.0 {
            return format!(
                "ApiHost={controllers} IpuofDir={} PartitionPrefix={PREFIX} Mode=pool Pool={} RemoveWait={} \
                 ReconcileInterval={} OnPartitionError={on_partition_error}",
                self.ipuof_dir,
                pool::POOL,
                REMOVE_WAIT.as_secs(),
                RECONCILE_INTERVAL.as_secs(),
            );
        }
        let prepare = if schedule.prepares { "all" } else { "no" };
        let reuse = schedule
            .reuse_reset
            .map(|reset| format!("KeepIdle={KEEP_IDLE} KeepIdleFor=any-job ReuseReset={reset}"));
        format!(
            "ApiHost={controllers} IpuofDir={} PartitionPrefix={PREFIX} {placement} Prepare={prepare} PrepareWait=15 \
             RemoveWait={} ReconcileInterval={} MaxKeep=60 OnPartitionError={on_partition_error} {}",
            self.ipuof_dir,
            REMOVE_WAIT.as_secs(),
            RECONCILE_INTERVAL.as_secs(),
            reuse.unwrap_or_default(),
        )
    }

    pub fn settings(&self) -> ModelSettings {
        ModelSettings {
            create_timeout: CREATE_TIMEOUT,
            reconcile_interval: RECONCILE_INTERVAL,
            domain_size: IpuCount::new(64).unwrap(),
            pool: None,
            force_remove: self.force_remove,
            cluster: (self.placement == Placement::Explicit).then(|| "cluster".to_owned()),
            max_concurrent_creates: self.max_concurrent_creates,
            ipuof_dir: Some(Path::new(self.ipuof_dir).into()),
            ..settings()
        }
    }
}

/// The numbers of events, runs and partitions.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Events that ledgers were told.
    pub events: u64,
    pub launched: u64,
    /// Idle partitions that were given to a job.
    pub reused: u64,
    /// Launches on prepared partitions.
    pub at_once: u64,
    /// Partitions that stayed after their failed jobs.
    pub kept: u64,
    /// Runs that were ended because their partition could not be made.
    pub failed: u64,
    /// Those of them that were held.
    pub held: u64,
    /// Remove calls that reached a controller.
    pub removals: u64,
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Everything of one seed.
pub struct Cluster {
    pub schedule: Schedule,
    pub random: RefCell<StdRng>,
    pub check: Check,
    pub counts: RefCell<Counts>,
    pub disk: Disk,
    pub shelf: Shelf,
    pub machines: Vec<Rc<Machine>>,
    pub slurm: RefCell<Slurm>,
    pub processes: Processes,
    /// Earlier saved states of Slurm with their times in seconds, the oldest first.
    saved: RefCell<VecDeque<(i64, Slurm)>>,
    /// The time of the saved state that the slurmctld in charge has read.
    pub saved_at: Cell<i64>,
    /// Runs of which a node has processes, although Slurm's saved state does not have the run as launched, each with
    /// the end of these processes.
    unsaved_launches: RefCell<Vec<(JobRun, Instant)>>,
    pub config: RefCell<Config>,
    began: Instant,
    outside: UnboundedSender<Work>,
    /// The slurmctld in charge, when there is one.
    pub ctld: RefCell<Option<(Rc<Slurmctld>, JoinHandle<()>)>>,
    terms: Cell<u32>,
}

impl Cluster {
    pub fn new(schedule: Schedule, outside: UnboundedSender<Work>, keeps_all: bool) -> Rc<Self> {
        let began = Instant::now();
        let machine = |(model, ipus): &(&str, u32), letter| {
            let name = format!("{model}-{letter}:8090");
            Rc::new(controller::machine(&name, ModelName::new(*model).unwrap(), *ipus, began))
        };
        // A pool has one controller.
        let letters = |model: &(&str, u32)| if *model == pool::MODEL { &["a"][..] } else { &["a", "b"] };
        let machines = schedule
            .models
            .iter()
            .flat_map(|model| letters(model).iter().map(|letter| machine(model, letter)).collect::<Vec<_>>());
        Rc::new(Self {
            random: RefCell::new(schedule.random()),
            check: Check::new(keeps_all),
            counts: RefCell::default(),
            disk: Disk::default(),
            shelf: Shelf::default(),
            machines: machines.collect(),
            slurm: RefCell::new(Slurm { jobs: Default::default(), next_id: 1 }),
            processes: Processes::default(),
            saved: RefCell::default(),
            saved_at: Cell::new(EPOCH),
            unsaved_launches: RefCell::default(),
            config: RefCell::new(Config::new(schedule.placement)),
            schedule,
            began,
            outside,
            ctld: RefCell::default(),
            terms: Cell::new(0),
        })
    }

    /// Runs `work` even if the slurmctld that asks for it ends.
    pub fn outside(&self, work: impl Future<Output = ()> + 'static) {
        self.outside.send(Box::pin(work)).unwrap();
    }

    /// A random time up to `longest`.
    pub fn up_to(&self, longest: Duration) -> Duration {
        self.random.borrow_mut().random_range(Duration::ZERO..=longest)
    }

    pub fn chance(&self, probability: f64) -> bool {
        self.random.borrow_mut().random_bool(probability)
    }

    /// The time on Slurm's clock, in seconds.
    pub fn seconds(&self) -> i64 {
        self.seconds_at(Instant::now())
    }

    /// This time in whole seconds of that clock.
    pub fn seconds_at(&self, time: Instant) -> i64 {
        EPOCH + i64::try_from(time.duration_since(self.began).as_secs()).unwrap()
    }

    /// This time of that clock.
    pub fn instant_at(&self, time: Seconds) -> Instant {
        self.began + Duration::from_secs((time.0 - EPOCH).try_into().unwrap_or_default())
    }

    pub fn note(&self, line: impl Display) {
        self.check.note(self.began.elapsed(), line);
    }

    /// The controller with this name.
    pub fn machine(&self, name: &ControllerName) -> Option<&Rc<Machine>> {
        self.machines.iter().find(|machine| machine.name == *name)
    }

    /// The models in the present configuration.
    pub fn models(&self) -> Models {
        let config = self.config.borrow();
        let model = |(name, ipus): &(&str, u32)| {
            let name = ModelName::new(*name).unwrap();
            let mut controllers: Vec<_> = self
                .machines
                .iter()
                .filter(|it| it.model == name)
                .map(|machine| machine.name.to_string())
                .collect();
            controllers.rotate_left(config.rotation);
            if config.one_less && controllers.len() > 1 {
                controllers.pop();
            }
            let text = config.text(&name, &controllers.join(","), &self.schedule);
            let settings = vipu_conf::Settings::parse(&text, Path::new("vipu.conf")).unwrap();
            (name, Model { largest: *ipus, sizes: None, settings: Some(settings), cabling: None })
        };
        Models(self.schedule.models.iter().map(model).collect())
    }

    /// The slurmctld in charge.
    pub fn in_charge(&self) -> Option<Rc<Slurmctld>> {
        self.ctld.borrow().as_ref().map(|(ctld, _)| Rc::clone(ctld))
    }

    /// Starts a slurmctld.
    pub fn start(self: &Rc<Self>) {
        self.terms.set(self.terms.get() + 1);
        self.note(format!("slurmctld {} starts", self.terms.get()));
        let ctld = Slurmctld::start(self, self.terms.get());
        self.ctld.replace(Some(ctld));
    }

    /// Saves Slurm's own state.
    pub fn save(&self) {
        let mut saved = self.saved.borrow_mut();
        if saved.len() == SAVED {
            saved.pop_front();
        }
        saved.push_back((self.seconds(), self.slurm.borrow().clone()));
    }

    /// Replaces Slurm's state by the one that the next slurmctld reads: the present one, or one up to
    /// [`SAVED`] seconds old.
    pub fn read_saved(&self, forgetful: bool) {
        let truth = self.slurm.borrow().clone();
        let saved = std::mem::take(&mut *self.saved.borrow_mut());
        let pick = self.random.borrow_mut().random_range(0..SAVED);
        let found = saved.into_iter().nth(pick).filter(|_| forgetful);
        let (at, found) = found.unwrap_or_else(|| (self.seconds(), truth.clone()));
        self.note(format!("jobs up to {} are found, of {}", found.next_id - 1, truth.next_id - 1));
        self.saved_at.set(at);
        self.note_unsaved_launches(&found, &truth);
        self.slurm.replace(found.restored(&truth));
    }

    /// Notes the runs that Slurm's saved state does not have as launched. Slurm ends the processes of those that it
    /// does not have at all. The journal has to know a run: it is about to be written if a job is launched at once on a
    /// prepared partition.
    fn note_unsaved_launches(&self, found: &Slurm, truth: &Slurm) {
        let mut launches = self.unsaved_launches.borrow_mut();
        launches.retain(|(_, ends)| *ends > Instant::now());
        for job in truth.jobs.values().filter(|job| job.state == State::Running) {
            let run = job.run();
            let is_known =
                job.grant().is_some_and(|grant| self.disk.on_record(&grant.partition) == Some(run));
            let saved = found.jobs.get(&job.id).filter(|saved| saved.run() == run).map(|saved| saved.state);
            match saved {
                Some(State::Running) => {}
                // The end of a script is told until a slurmctld takes it.
                Some(State::Configuring) => {
                    launches.push((run, job.ends.max(Instant::now() + Duration::from_millis(300))));
                }
                _ if is_known => launches.push((run, Instant::now() + self.up_to(Duration::from_secs(5)))),
                _ => {}
            }
        }
    }

    /// The end of the processes of a run, or of any run of a job, that Slurm's saved state did not have as launched.
    pub fn unsaved_launch(&self, is_meant: impl Fn(JobRun) -> bool) -> Option<Instant> {
        let launches = self.unsaved_launches.borrow();
        launches.iter().find(|(run, ends)| is_meant(*run) && *ends > Instant::now()).map(|(_, ends)| *ends)
    }

    /// Notes that the processes of a run are ended by Slurm.
    pub fn end_unsaved_launch(&self, ended: JobRun) {
        self.unsaved_launches.borrow_mut().retain(|(run, _)| *run != ended);
    }

    /// Whether the node of a job has processes of it. None if the node is cut off.
    pub fn has_processes(&self, job: u32) -> Option<bool> {
        let runs = self.slurm.borrow().jobs.get(&job).is_some_and(|job| job.state == State::Running)
            || self.unsaved_launch(|run| run.job == job).is_some();
        self.processes.of_job(job).map(|are_left| runs || are_left)
    }

    /// Checks that a job is launched on the partition that was made for it, with the file of that partition.
    pub fn check_launch(&self, job: &Job) {
        let run = job.run();
        if job.is_batch && job.is_entered {
            self.check.breach(format!("{run:?} is launched with its number of IPUs in Slurm's allocation"));
        }
        let Some(Grant { partition, controller: Some(controller), .. }) = job.grant() else {
            return self.check.breach(format!("{run:?} is launched and was given no partition"));
        };
        if let Some(other) = self.processes.of_another(&partition, run) {
            let what = format!("{run:?} is launched on {partition}, where processes of {other:?} are left");
            self.check.breach(what);
        }
        let Some(machine) = self.machine(&controller) else { return };
        let directories = ["/ipuof", "/other"].map(Path::new);
        let files: Vec<_> =
            directories.into_iter().filter_map(|dir| self.shelf.file(dir, &partition)).collect();
        let is_ours = |maker: &Maker| matches!(maker, Maker::Us(made_for) if is_of(run, *made_for));
        let wrong = match (&files[..], machine.tag(partition.as_str())) {
            ([], _) => "it has no file".to_owned(),
            ([file], _) if !is_ours(&file.maker) => format!("its file is of {:?}", file.maker),
            ([file], Some(tag)) if *file != tag => format!("its partition is another, of {:?}", tag.maker),
            ([file], None) if !machine.has_lost(*file) => "it has no partition".into(),
            ([file], _) => match machine.used_by(*file, job.user) {
                Some(other) => format!("user {other} has used it, and it was not reset"),
                None => return,
            },
            (several, _) => format!("it has files {several:?}"),
        };
        self.check.breach(format!("{run:?} is launched on {partition}: {wrong}"));
    }
}
