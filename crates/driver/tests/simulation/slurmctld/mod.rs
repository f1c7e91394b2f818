//! One slurmctld with the plugin in it, from its start until it is killed or superseded: what `slurmctld-vipu` does
//! with ledger and driver, without Slurm's memory.

mod host;
mod jobs;
mod preparing;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use driver::{Driver, Environment, Handle, Orders, PodSetup, channel};
use ledger::{Action, AdoptedAs, Claim, Event, Ledger, Millis};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, sleep};
use vipu_types::{JobRun, PartitionId, PodId};

use crate::cluster::Cluster;
use crate::controller::{Line, Machine, Maker};
use crate::disk::{Hands, Notes};
use crate::slurm::{Job, State};
use crate::words::{of_action, of_event};

/// How long a removal waits for a job's nodes (RemoveWait).
pub const REMOVE_WAIT: Duration = Duration::from_secs(10);

/// What lives as long as one slurmctld.
pub struct Slurmctld {
    pub cluster: Rc<Cluster>,
    term: u32,
    ledger: RefCell<Ledger>,
    driver: Handle<Line>,
    host: UnboundedSender<Action>,
    kicked: Notify,
    began: Instant,
    /// Slurm's jobs are this one's.
    in_charge: Cell<bool>,
    is_dead: Cell<bool>,
}

impl Slurmctld {
    /// Reads configuration, takes over the jobs there are, and only then starts what makes partitions: while
    /// the journal is still being opened jobs may begin.
    pub fn start(cluster: &Rc<Cluster>, term: u32) -> (Rc<Self>, JoinHandle<()>) {
        let ((driver, orders), (host, actions)) = (channel(), unbounded_channel());
        let this = Rc::new(Self {
            cluster: Rc::clone(cluster),
            term,
            ledger: RefCell::default(),
            driver,
            host,
            kicked: Notify::new(),
            began: Instant::now(),
            in_charge: Cell::new(true),
            is_dead: Cell::new(false),
        });
        this.configure();
        this.adopt();
        let life = Rc::clone(&this);
        let life = async move {
            tokio::select! {
                biased;
                () = life.drive(orders) => {}
                () = life.be_host(actions) => {}
                () = life.keep_scheduling() => {}
            }
        };
        (this, spawn_local(life))
    }

    /// Another is in charge of Slurm's jobs now.
    pub fn hand_over(&self) {
        self.in_charge.set(false);
    }

    /// Ends in the middle of whatever it does.
    pub fn die(&self) {
        self.hand_over();
        self.is_dead.set(true);
    }

    /// Takes the configuration that holds now into use.
    pub fn configure(self: &Rc<Self>) {
        let config = self.cluster.config.borrow().clone();
        let line = |machine: &Rc<Machine>| Line { machine: Rc::clone(machine), caller: Rc::clone(self) };
        let setup = |machine: &Rc<Machine>| PodSetup {
            pod: PodId { model: machine.model.clone(), controller: machine.name.clone() },
            settings: config.settings(),
            controller: line(machine),
        };
        let facts = self.cluster.facts();
        let listed = self
            .cluster
            .machines
            .iter()
            .filter(|machine| facts.iter().any(|facts| facts.controllers.contains(&machine.name)));
        self.driver.configure(listed.map(setup).collect());
        self.tell(Event::Models(facts));
    }

    /// Takes over the jobs of an earlier slurmctld.
    fn adopt(self: &Rc<Self>) {
        let jobs: Vec<Job> = self.cluster.slurm.borrow().jobs.values().cloned().collect();
        for job in jobs {
            let (run, ended) = (job.run(), matches!(job.state, State::Completing(_)));
            let found = match job.state {
                State::Configuring => AdoptedAs::Starting,
                State::Running => AdoptedAs::Running,
                State::Completing(_) => AdoptedAs::Ending,
                State::Pending => continue,
                State::Held => {
                    self.admin_looks_at(job.id);
                    continue;
                }
            };
            self.with_job(run, |job| match found {
                AdoptedAs::Starting => job.launch.push(run),
                AdoptedAs::Running => {}
                AdoptedAs::Ending => job.completion.push(run),
                AdoptedAs::Kept(_) => {}
            });
            let claim = job.given.expect("it had begun");
            assert_eq!(claim.run, run, "the record of a job that has nodes is of the run it has them for");
            if ended {
                self.limit_completion(claim.clone());
            }
            let claim = Claim { ipus: Vec::new(), ..claim };
            match job.keep_until.filter(|_| ended) {
                None => self.tell(Event::Adopt(claim, found)),
                keep_until => {
                    self.tell(Event::Adopt(claim, AdoptedAs::Running));
                    self.tell(jobs::ended(job.id, keep_until));
                }
            }
            if !ended {
                self.end_in_time(run, job.ends);
            }
        }
    }

    /// Opens the journal, gives up what nobody owns, and drives.
    async fn drive(self: &Rc<Self>, orders: Orders<Line>) {
        sleep(self.cluster.up_to(Duration::from_millis(500))).await;
        let live = self.cluster.disk.open(self.term);
        for record in &live {
            let claim = &record.claim;
            if self.ledger.borrow().holder(&claim.partition).is_some() {
                continue;
            }
            match (record.kept(), self.still_waits_for(record)) {
                (Some(until), _) => self.tell(Event::Adopt(claim.clone(), AdoptedAs::Kept(until))),
                (None, true) => self.prepare(claim.clone()),
                (None, false) => self.tell(Event::Orphan(claim.clone())),
            }
        }
        let notes = Notes { cluster: Rc::clone(&self.cluster), term: self.term };
        let outside = Outside { ctld: Rc::clone(self), notes, hands: Hands(Rc::clone(&self.cluster)) };
        let ended = Driver::new(outside, live).run(orders).await;
        if self.in_charge.get() {
            self.cluster.check.breach(format!("the driver in charge ended by itself: {ended:?}"));
        }
    }

    /// Tells the ledger, and passes on what it wants.
    pub fn tell(&self, event: Event) {
        if self.is_dead.get() {
            return;
        }
        let check = &self.cluster.check;
        check.events.set(check.events.get() + 1);
        let told = format!("[{}] {}", self.term, of_event(&event));
        self.cluster.note(&told);
        if matches!(&event, Event::CreateFailed { reason, .. } if reason.contains("internal error")) {
            check.breach(told.clone());
        }
        let actions = self.ledger.borrow_mut().apply(self.now(), event);
        check.ledger(&self.ledger.borrow(), &told);
        for action in &actions {
            self.cluster.note(format!("[{}]   {}", self.term, of_action(action)));
        }
        self.driver.route(actions, self);
    }

    /// The run that asks for a partition. Its intent must be on record by now.
    pub fn about_to_make(&self, partition: &PartitionId) -> JobRun {
        let run = self.ledger.borrow().holder(partition).expect("a create has a claim").run;
        self.cluster.note(format!("[{}] call create {partition}", self.term));
        let on_record = self.cluster.disk.on_record(partition);
        if self.in_charge.get() && on_record != Some(run) {
            let what = format!("{partition} is asked for by {run:?} and on record for {on_record:?}");
            self.cluster.check.breach(what);
        }
        run
    }

    /// A partition is removed, by a call of this one, which may have ended since. It must be nobody's.
    pub fn about_to_remove(&self, machine: &Machine, partition: &PartitionId) {
        self.cluster.note(format!("[{}] call remove {partition}", self.term));
        let Some(tag) = machine.tag(partition.as_str()) else { return };
        match tag.maker {
            Maker::Others => self.cluster.check.breach(format!("{partition} is removed, which others made")),
            Maker::Us(run) => {
                let runs = |job: &Job| job.has(partition, run) && job.state == State::Running;
                if self.in_charge.get() && self.cluster.slurm.borrow().jobs.get(&run.job).is_some_and(runs) {
                    self.cluster.check.breach(format!("{partition} is removed under {run:?}, which runs"));
                }
            }
        }
    }

    fn with_job<T>(&self, run: JobRun, work: impl FnOnce(&mut Job) -> T) -> Option<T> {
        self.cluster.slurm.borrow_mut().at(run).map(work)
    }

    /// The claims that are not over.
    pub fn claims(&self) -> Vec<String> {
        let claims = self.ledger.borrow().view().claims;
        claims.into_iter().map(|it| format!("claim of {}: {:?}", it.claim.partition, it.phase)).collect()
    }

    /// Does `work` at that time, if this is still in charge then.
    pub fn at(self: &Rc<Self>, time: Instant, work: impl FnOnce(&Rc<Self>) + 'static) {
        let this = Rc::clone(self);
        self.cluster.outside(async move {
            tokio::time::sleep_until(time).await;
            if this.in_charge.get() {
                work(&this);
            }
        });
    }
}

/// What the driver sees.
struct Outside {
    ctld: Rc<Slurmctld>,
    notes: Notes,
    hands: Hands,
}

impl Environment for Outside {
    type Controller = Line;
    type Journal = Notes;
    type Files = Hands;

    fn journal(&self) -> &Notes {
        &self.notes
    }

    fn files(&self) -> &Hands {
        &self.hands
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.ctld.began.elapsed().as_millis()).unwrap())
    }

    fn report(&self, event: Event) {
        self.ctld.tell(event);
    }
}
