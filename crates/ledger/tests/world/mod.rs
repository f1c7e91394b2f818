//! A tiny world around a ledger: Slurm, a driver and a controller that do what they do in any legal
//! order, and that watch what the ledger asks of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ledger::{
    Action, AdoptedAs, Awaits, Claim, DriverAction, Ending, Event, HostAction, Ledger, Millis, ModelFacts,
    Place, Placement, Preparation, Seconds, SeenPartition,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};
use watch::{answers, partition_of};

pub use controller::Controller;

mod controller;
mod watch;

/// What happened to one run, as Slurm and the host see it.
#[derive(Default)]
pub struct Run {
    /// Slurm knows this run and has not ended it.
    pub alive: bool,
    /// Gates raised, and how often the ledger asked to open each.
    pub launch: (u32, u32),
    pub completion: (u32, u32),
}

pub struct World {
    pub ledger: Ledger,
    pub now: Millis,
    /// The model's controllers, in the order in which they are tried.
    pub controllers: Vec<(ControllerName, Controller)>,
    /// All runs ever, with the claim of each.
    pub runs: BTreeMap<JobRun, (Claim, Run)>,
    /// Actions under way.
    pub pending: Vec<Action>,
    /// The partitions that were ever asked for.
    asked: BTreeSet<PartitionId>,
    /// Creates that were told to end early.
    cancelled: BTreeSet<JobRun>,
    /// Listings asked for and not delivered yet.
    listings: Vec<Event>,
}

impl World {
    /// A model with these controllers.
    pub fn new(controllers: impl IntoIterator<Item = Controller>) -> Self {
        let named = (1..).map(|port| ControllerName::new("vipu", port).unwrap()).zip(controllers);
        let mut world = Self {
            ledger: Ledger::new(),
            now: Millis(0),
            controllers: named.collect(),
            runs: BTreeMap::new(),
            pending: vec![],
            asked: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            listings: vec![],
        };
        world.configure(None);
        world
    }

    pub fn model() -> ModelName {
        ModelName::new("pod").unwrap()
    }

    /// Reads configuration that makes this trouble.
    pub fn configure(&mut self, trouble: Option<String>) {
        let controllers = self.controllers.iter().map(|(name, _)| name.clone()).collect();
        self.set_model(controllers, trouble);
    }

    /// Reads configuration with one controller less, or the same ones in another order.
    pub fn reorder(&mut self, pick: u32) {
        let mut controllers: Vec<_> = self.controllers.iter().map(|(name, _)| name.clone()).collect();
        let turns = pick as usize % controllers.len();
        controllers.rotate_left(turns);
        if pick.is_multiple_of(3) {
            controllers.pop();
        }
        self.set_model(controllers, None);
    }

    fn set_model(&mut self, controllers: Vec<ControllerName>, trouble: Option<String>) {
        let domain_size = IpuCount::new(self.controllers[0].1.domain.into()).unwrap();
        let facts = ModelFacts {
            model: Self::model(),
            controllers,
            domain_size,
            prefix: "slurm".into(),
            placement: Placement::Controller,
            reconcile_interval: Duration::ZERO,
            largest: 64,
            trouble,
        };
        self.tell(Event::Models(vec![facts]));
    }

    /// One of the controllers.
    pub fn any(&mut self, pick: u32) -> &mut Controller {
        let count = self.controllers.len();
        &mut self.controllers[pick as usize % count].1
    }

    /// The controller of a claim.
    fn of(&mut self, claim: &Claim) -> &mut Controller {
        &mut self.controllers.iter_mut().find(|(name, _)| *name == claim.controller).expect("it is known").1
    }

    /// The Pod of a controller.
    pub fn pod(&self, pick: u32) -> PodId {
        let controller = self.controllers[pick as usize % self.controllers.len()].0.clone();
        PodId { model: Self::model(), controller }
    }

    /// Tells the ledger, checks it, and takes on what it wants done.
    pub fn tell(&mut self, event: Event) {
        self.now.0 += 1;
        let told = format!("{event:?}");
        let before = self.largest();
        let actions = self.ledger.apply(self.now, event);
        assert_eq!(self.ledger.violations(), [], "after {told}");
        let kicked = actions.contains(&Action::Host(HostAction::KickScheduler));
        assert!(kicked || self.largest() <= before, "more fits after {told}, but nobody told the scheduler");
        for action in actions {
            self.take_on(action);
        }
        self.check_progress(&told);
    }

    /// The largest size that fits.
    fn largest(&self) -> u32 {
        let sizes = (0..7).rev().map(|order| IpuCount::new(1 << order).unwrap());
        let mut fitting = sizes.filter(|size| self.ledger.fits_now(&Self::model(), *size).is_ok());
        fitting.next().map_or(0, IpuCount::get)
    }

    fn run(&mut self, claim: &Claim) -> &mut Run {
        &mut self.runs.get_mut(&claim.run).expect("a run that began").1
    }

    /// A job gets its nodes, if the ledger lets it.
    pub fn begin(&mut self, job: u32, restart: u16, size: IpuCount) {
        if let Ok(controller) = self.ledger.fits_now(&Self::model(), size) {
            let claim = self.new_run((job, restart), controller, size, 1, 0);
            self.tell_begin(&claim);
        }
    }

    /// Slurm takes the launch gate back where the ledger has the partition already.
    fn tell_begin(&mut self, claim: &Claim) {
        self.tell(Event::Begin(claim.clone()));
        if self.ledger.is_launched(claim.run.job) {
            self.run(claim).launch.0 = 0;
        }
    }

    /// A partition is made for a job that waits, if the ledger has room.
    pub fn prepare(&mut self, job: u32, restart: u16, size: IpuCount) {
        let found = self.ledger.fits_now(&Self::model(), size);
        let Some(controller) = found.ok().filter(|_| self.ledger.may_prepare(self.now, job)) else { return };
        let claim = self.new_run((job, restart), controller, size, 0, 0);
        self.run(&claim).alive = false;
        self.tell(Event::Prepare(claim));
    }

    /// A job gets its nodes for which a partition was prepared; or while it is being made, if there is room
    /// for another.
    pub fn begin_prepared(&mut self, job: u32) {
        let Some(Preparation { claim: early, ready }) = self.ledger.preparation(job) else { return };
        if ready.is_none() && self.ledger.fits_now(&Self::model(), early.size) != Ok(early.controller.clone())
        {
            return;
        }
        let restart = early.run.restart;
        let partition = if ready.is_some() { early.partition } else { self.new_id(job, restart) };
        let claim = self.new_run_on(partition, (job, restart), early.controller, early.size, 1, 0);
        self.tell_begin(&claim);
        assert_eq!(self.ledger.is_launched(job), ready.is_some(), "{} has what was prepared", claim.run);
    }

    /// A partition of an earlier slurmctld is found, and its job if there still is one.
    pub fn find(&mut self, job: u32, size: IpuCount, found: Option<AdoptedAs>, pick: u32) {
        let (alive, launch, completion) = match found {
            Some(AdoptedAs::Starting) => (true, 1, 0),
            Some(AdoptedAs::Running) => (true, 0, 0),
            Some(AdoptedAs::Ending) => (false, 0, 1),
            Some(AdoptedAs::Kept(_)) | None => (false, 0, 0),
        };
        let controller = self.pod(job).controller;
        let claim = self.new_run((job, 0), controller, size, launch, completion);
        self.run(&claim).alive = alive;
        self.of(&claim).create(&claim, pick);
        self.tell(
            found.map_or_else(|| Event::Orphan(claim.clone()), |found| Event::Adopt(claim.clone(), found)),
        );
    }

    fn new_id(&self, job: u32, restart: u16) -> PartitionId {
        self.ledger.new_id(self.now, &Self::model(), job, restart).expect("a known model")
    }

    fn new_run(
        &mut self,
        (job, restart): (u32, u16),
        controller: ControllerName,
        size: IpuCount,
        launch: u32,
        completion: u32,
    ) -> Claim {
        let partition = self.new_id(job, restart);
        self.new_run_on(partition, (job, restart), controller, size, launch, completion)
    }

    fn new_run_on(
        &mut self,
        partition: PartitionId,
        (job, restart): (u32, u16),
        controller: ControllerName,
        size: IpuCount,
        launch: u32,
        completion: u32,
    ) -> Claim {
        // Whatever Slurm did with the job's runs before, there is only this one now.
        self.runs
            .values_mut()
            .filter(|(claim, _)| claim.run.job == job)
            .for_each(|(_, run)| run.alive = false);
        let run = JobRun { job, restart, start: self.runs.len() as i64 };
        let claim = Claim {
            partition,
            run,
            user: 1000,
            model: Self::model(),
            controller,
            size,
            shape: Shape::default(),
            slurm_partition: Some(format!("part{}", self.runs.len() % 2)),
            ipus: vec![],
        };
        let state = Run { alive: true, launch: (launch, 0), completion: (completion, 0) };
        self.runs.insert(run, (claim.clone(), state));
        claim
    }

    /// Slurm ends the job's run.
    pub fn fini(&mut self, job: u32, ending: Ending) {
        let ending = self.end(job, ending);
        self.tell(Event::Fini { job, ending });
    }

    /// The same of a run that failed, whose partition shall stay.
    pub fn fail(&mut self, job: u32, ending: Ending) {
        let ending = self.end(job, ending);
        let keep_until = Seconds((self.now.0 / 1000 + 60).cast_signed());
        self.tell(Event::Failed { job, ending, keep_until });
    }

    /// Raises the completion gate of a run that there is.
    fn end(&mut self, job: u32, ending: Ending) -> Ending {
        let Some(claim) = self.ledger.live_claim(job).cloned() else { return Ending::Unheld };
        let run = self.run(&claim);
        run.alive = false;
        run.completion.0 += u32::from(ending == Ending::Held);
        ending
    }

    /// The partitions of failed runs that stay.
    pub fn kept(&self) -> Vec<PartitionId> {
        let kept = self.ledger.view().claims.into_iter().filter(|it| it.phase.is_kept());
        kept.map(|it| it.claim.partition).collect()
    }

    /// RemoveWait is over for all runs of a job.
    pub fn overdue(&mut self, job: u32) {
        let claims = self.ledger.view().claims.into_iter().filter(|it| it.claim.run.job == job);
        let partitions: Vec<_> = claims.map(|it| it.claim.partition).collect();
        partitions.into_iter().for_each(|partition| self.tell(Event::Overdue(partition)));
    }

    /// Slurm loses a run that was not launched yet, and tells nobody.
    pub fn vanish(&mut self, job: u32) {
        let Some(claim) = self.ledger.live_claim(job).cloned() else { return };
        if self.ledger.preparation(job).is_some() {
            return;
        }
        let opening = self.under_way(|action| answers(action) == Some((Awaits::Launch, claim.run)));
        let run = self.run(&claim);
        if run.launch == (1, 0) || opening > 0 {
            run.alive = false;
        }
    }

    /// Asks a controller for a listing; it arrives later.
    pub fn ask(&mut self, pod: PodId) {
        self.now.0 += 1;
        let asked = self.controllers.iter().find(|(name, _)| *name == pod.controller);
        let (_, controller) = asked.expect("a controller there is");
        let partitions = controller.partitions.iter();
        let seen = |(id, places): (&PartitionId, &Vec<Place>)| SeenPartition {
            partition: id.clone(),
            places: places.clone(),
            fault: None,
            leaving: false,
        };
        self.listings.push(Event::Inventory {
            pod,
            asked: self.now,
            ipus: controller.ipus,
            faulty: controller.faulty(),
            partitions: partitions.map(seen).collect(),
        });
    }

    /// Whether a listing is on its way.
    pub fn listed(&self) -> bool {
        !self.listings.is_empty()
    }

    /// Some listing arrives, not always the oldest.
    pub fn deliver(&mut self, pick: u32) {
        if !self.listings.is_empty() {
            let event = self.listings.swap_remove(pick as usize % self.listings.len());
            self.tell(event);
        }
    }

    /// Something under way is done: for one partition in the order in which it was asked for.
    pub fn carry_out(&mut self, pick: u32) {
        if self.pending.is_empty() {
            return;
        }
        let picked = partition_of(&self.pending[pick as usize % self.pending.len()]);
        let Some(at) = self.pending.iter().position(|action| partition_of(action) == picked) else { return };
        let pick = pick / 7;
        match self.pending[at].clone() {
            Action::Driver(DriverAction::Create(claim)) if pick.is_multiple_of(4) => {
                self.tell(Event::CreateStarted(claim.partition))
            }
            Action::Driver(DriverAction::Create(claim)) if pick % 8 < 6 && self.is_refused(&claim, pick) => {
                self.refuse(claim)
            }
            Action::Driver(DriverAction::Create(claim)) => {
                self.pending.remove(at);
                let event = self.created(&claim, pick);
                self.tell(event);
            }
            // Gone at the controller first, then in all: a listing may fall in between.
            Action::Driver(DriverAction::Remove(claim))
                if self.of(&claim).remove(&claim.partition) && pick.is_multiple_of(2) => {}
            other => {
                self.pending.remove(at);
                self.answer(other, pick);
            }
        }
    }

    /// Whether the controller has no room for a partition that is still wanted.
    fn is_refused(&mut self, claim: &Claim, pick: u32) -> bool {
        !self.cancelled.contains(&claim.run) && !self.of(claim).create(claim, pick)
    }

    /// The create goes on trying.
    fn refuse(&mut self, claim: Claim) {
        self.tell(Event::NoRoom(claim.partition.clone()));
        self.ask(claim.pod());
    }

    fn created(&mut self, claim: &Claim, pick: u32) -> Event {
        let cancelled = self.cancelled.remove(&claim.run);
        let exists = self.of(claim).create(claim, pick);
        match pick % 5 {
            0 | 1 if cancelled => {
                if pick.is_multiple_of(5) {
                    self.of(claim).remove(&claim.partition);
                }
                Event::CreateCancelled(claim.partition.clone())
            }
            0 => {
                Event::CreateFailed { partition: claim.partition.clone(), reason: "the agent is down".into() }
            }
            _ if exists => Event::Up(claim.partition.clone()),
            _ => Event::CreateFailed { partition: claim.partition.clone(), reason: "no room".into() },
        }
    }

    fn answer(&mut self, action: Action, pick: u32) {
        let held = if pick.is_multiple_of(2) { Ending::Held } else { Ending::Unheld };
        match action {
            Action::Host(HostAction::OpenLaunch(claim)) if self.run(&claim).alive => {
                self.tell(Event::Launched(claim.partition))
            }
            Action::Host(HostAction::FailRun(claim, _)) | Action::Host(HostAction::SendBack(claim, _))
                if self.run(&claim).alive =>
            {
                self.fini(claim.run.job, held)
            }
            Action::Host(HostAction::OpenLaunch(claim))
            | Action::Host(HostAction::FailRun(claim, _))
            | Action::Host(HostAction::SendBack(claim, _)) => self.tell(Event::RunVanished(claim.partition)),
            Action::Driver(DriverAction::Keep(claim, _)) => self.tell(Event::KeepRecorded(claim.partition)),
            Action::Host(HostAction::AwaitNodes(claim)) => self.tell(Event::NodesDone(claim.partition)),
            Action::Driver(DriverAction::Remove(claim)) => self.tell(Event::Gone(claim.partition)),
            Action::Driver(DriverAction::Survey(pod)) => self.ask(pod),
            other => panic!("{other:?} has no answer"),
        }
    }
}
