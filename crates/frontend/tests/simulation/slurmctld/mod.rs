//! One slurmctld with the plugin, from its start until it is killed or superseded. It has the front end that
//! ships, with ledger and driver, on a simulated Slurm.
//!
//! This is the fake Slurm at the level of the front end's traits (`frontend::slurm`), under virtual time: for ends of
//! slurmctld and faults at any moment.

mod jobs;
mod records;
mod threads;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel as std_channel};
use std::time::Duration;

use driver::{Driver, Environment, Handle, Host, LiveRecord, Orders, PodSetup, channel};
use frontend::{Frontend, HostTask, HostThread};
use ledger::{Action, ClaimView, DriverAction, Event, HostAction, Millis, Phase, Seconds};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, sleep, timeout};
use vipu_types::{JobRun, PartitionId, PodId};

use self::records::{JobChange, Locks};
use self::threads::{Outgoing, Threads};
use crate::cluster::Cluster;
use crate::controller::{Line, Machine, Maker};
use crate::disk::{Hands, NO_SPACE, Notes};
use crate::events_in_words::{of_action, of_event};
use crate::pool;
use crate::slurm::{Job, State, is_of, job_of};

/// The time for which a removal waits for a job's nodes (RemoveWait).
pub const REMOVE_WAIT: Duration = Duration::from_secs(10);

/// Seconds between two looks of Slurm at a waiting job.
const SCHEDULING_INTERVAL: i64 = 30;

/// BatchStartTimeout in seconds.
const BATCH_START_TIMEOUT: i64 = 10;

/// Everything that lives as long as one slurmctld.
pub struct Slurmctld {
    pub cluster: Rc<Cluster>,
    term: u32,
    frontend: Frontend,
    outgoing: Receiver<Outgoing>,
    driver: Handle<Line>,
    host: UnboundedSender<HostTask>,
    host_thread: RefCell<HostThread>,
    kicked: Notify,
    began: Instant,
    /// Runs that have ended, according to the journal that it has read.
    ended: RefCell<BTreeSet<(u32, u16, i64)>>,
    /// Whether this slurmctld is in charge of Slurm's jobs.
    in_charge: Cell<bool>,
    is_dead: Cell<bool>,
    /// Runs of an older saved state, of which later jobs have the partitions.
    overtaken: RefCell<HashSet<JobRun>>,
}

impl Slurmctld {
    /// Reads configuration, takes over the jobs, and then starts the driver. Jobs may begin while the journal
    /// is still being opened.
    pub fn start(cluster: &Rc<Cluster>, term: u32) -> (Rc<Self>, JoinHandle<()>) {
        let ((driver, orders), (host, tasks), (sender, outgoing)) =
            (channel(), unbounded_channel(), std_channel());
        let began = Instant::now();
        let threads = Threads { began, unix_time: cluster.seconds(), outgoing: sender };
        let this = Rc::new(Self {
            cluster: Rc::clone(cluster),
            term,
            frontend: Frontend::new(Box::new(threads)),
            outgoing,
            driver,
            host,
            host_thread: RefCell::default(),
            kicked: Notify::new(),
            began,
            ended: RefCell::default(),
            in_charge: Cell::new(true),
            is_dead: Cell::new(false),
            overtaken: RefCell::default(),
        });
        this.frontend.slurm_was_configured(SCHEDULING_INTERVAL, BATCH_START_TIMEOUT);
        this.configure();
        this.adopt();
        let life = Rc::clone(&this);
        let life = async move {
            tokio::select! {
                biased;
                () = life.drive(orders) => {}
                () = life.be_host(tasks) => {}
                () = life.keep_scheduling() => {}
            }
        };
        (this, spawn_local(life))
    }

    /// Leaves Slurm's jobs to another slurmctld.
    pub fn hand_over(&self) {
        self.in_charge.set(false);
        self.frontend.close();
    }

    /// Ends this slurmctld in the middle of its work.
    pub fn die(&self) {
        self.hand_over();
        self.is_dead.set(true);
    }

    /// Takes the present configuration into use.
    pub fn configure(self: &Rc<Self>) {
        let config = self.cluster.config.borrow().clone();
        let line = |machine: &Rc<Machine>| Line { machine: Rc::clone(machine), network: Rc::clone(self) };
        let setup = |machine: &Rc<Machine>| PodSetup {
            pod: PodId { model: machine.model.clone(), controller: machine.name.clone() },
            settings: pool::settings_of(machine, config.settings()),
            controller: line(machine),
        };
        let models = self.cluster.models();
        let facts: Vec<_> = models.0.iter().map(|(name, model)| model.facts(name, None)).collect();
        let is_listed =
            |machine: &&Rc<Machine>| facts.iter().any(|facts| facts.controllers.contains(&machine.name));
        self.driver.configure(self.cluster.machines.iter().filter(is_listed).map(setup).collect());
        self.ask(|frontend| {
            frontend.set_models(models);
            frontend.tell_models(facts);
        });
    }

    /// Takes over the jobs of an earlier slurmctld.
    fn adopt(self: &Rc<Self>) {
        let jobs: Vec<Job> = self.cluster.slurm.borrow().jobs.values().cloned().collect();
        for job in jobs {
            // select_vipu.so does this when Slurm reads its jobs.
            self.with_job(job.id, |job| job.is_entered = false);
            if let Some(record) = JobChange::new(&self.cluster, job.id) {
                self.ask(|frontend| frontend::adopt(frontend, record));
            }
            match job.state {
                State::Pending => {}
                State::Held => self.admin_looks_at(job.id),
                State::Configuring => {
                    let is_held = self.with_job(job.id, |job| job.launch_gates > 0);
                    assert_eq!(is_held, Some(true), "a job that was not launched waits for its partition");
                    if let Some(ends) = self.cluster.unsaved_launch(|run| run == job.run()) {
                        self.end_in_time(job.run(), ends);
                    }
                }
                State::Running => self.end_in_time(job.run(), job.ends),
                State::Completing(_) => self.complete(job.run()),
            }
        }
    }

    /// Opens the journal, gives up the partitions without an owner, and runs the driver.
    async fn drive(self: &Rc<Self>, orders: Orders<Line>) {
        sleep(self.cluster.up_to(Duration::from_millis(500))).await;
        let (live, ended) = self.cluster.disk.open(self.term);
        self.note_overtaken();
        let saved = Some(Seconds(self.cluster.saved_at.get()));
        let records = live.iter().map(LiveRecord::recorded);
        self.ask(|frontend| frontend::take_over(frontend, records, &ended, saved));
        self.ended.borrow_mut().extend(ended.iter().map(|it| (it.run.job, it.run.restart, it.run.start)));
        let notes = Notes { cluster: Rc::clone(&self.cluster), term: self.term };
        let outside = Outside { ctld: Rc::clone(self), notes, hands: Hands(Rc::clone(&self.cluster)) };
        let ended = Driver::new(outside, live).run(orders).await;
        if self.in_charge.get() {
            self.cluster.check.breach(format!("the driver in charge ended by itself: {ended:?}"));
        }
    }

    /// Carries out the tasks of the host thread, some of them late.
    async fn be_host(self: &Rc<Self>, mut tasks: UnboundedReceiver<HostTask>) {
        loop {
            let pause = self.host_thread.borrow().pause(&self.frontend);
            let first = match timeout(pause, tasks.recv()).await {
                Ok(Some(task)) => Some(task),
                Ok(None) => return,
                Err(_) => None,
            };
            if self.cluster.chance(0.2) {
                sleep(self.cluster.up_to(Duration::from_millis(50))).await;
            }
            let mut batch: Vec<_> = first.into_iter().collect();
            while let Ok(task) = tasks.try_recv() {
                batch.push(task);
            }
            if self.in_charge.get() {
                let work = |frontend: &Frontend| {
                    self.host_thread.borrow_mut().work(frontend, &mut Locks(self), batch);
                };
                self.ask(work);
            }
        }
    }

    /// Lets a node tell which jobs run there. It does not answer now and then.
    fn ask_node(self: &Rc<Self>, node: String) {
        let at = Instant::now() + self.cluster.up_to(Duration::from_secs(2));
        self.at(at, |this| {
            let job = job_of(&node);
            let runs = this.cluster.has_processes(job).filter(|_| this.cluster.chance(0.8));
            let jobs = runs.map(|runs| runs.then_some(job).into_iter().collect());
            this.ask(|frontend| frontend.nodes_told([(node, jobs)].into()));
        });
    }

    /// Tells the ledger an event of the driver.
    fn report(&self, event: Event) {
        if self.is_dead.get() {
            return;
        }
        let told = format!("[{}] {}", self.term, of_event(&event));
        self.cluster.note(&told);
        if matches!(&event, Event::CreateFailed { reason, .. } if reason.contains("internal error")) {
            self.cluster.check.breach(told);
        }
        self.ask(|frontend| frontend.tell(event));
    }

    /// Calls the front end, and passes on the actions and tasks that follow.
    fn ask<R>(&self, ask: impl FnOnce(&Frontend) -> R) -> R {
        let answer = ask(&self.frontend);
        let mut told = false;
        for outgoing in self.outgoing.try_iter() {
            match outgoing {
                Outgoing::Actions(actions) => {
                    told = true;
                    self.cluster.counts.borrow_mut().events += 1;
                    actions.iter().for_each(|action| self.note(action));
                    self.driver.route(actions, self);
                }
                Outgoing::Launched(claim, at) => self.driver.launched(claim, at),
                Outgoing::Ended(claim, ended) => self.driver.ended(claim, ended),
                // The receiver ends together with this slurmctld.
                Outgoing::Host(task) => drop(self.host.send(task)),
            }
        }
        if told {
            self.check();
        }
        answer
    }

    /// Checks that the front end and its ledger are in order.
    fn check(&self) {
        let check = &self.cluster.check;
        if let Some(why) = self.frontend.out_of_order() {
            check.breach(format!("slurmctld {} is out of order: {why}", self.term));
        }
        check.ledger(&self.frontend.ledger(), &format!("slurmctld {}", self.term));
    }

    fn note(&self, action: &Action) {
        self.cluster.note(format!("[{}]   {}", self.term, of_action(action)));
        match action {
            Action::Host(HostAction::FailRun(claim, why))
            | Action::Host(HostAction::SendBack(claim, why))
                // An earlier try may have met a full journal, whose time did not count.
                if why.split("; before: ").next().is_some_and(|cause| cause.contains(NO_SPACE)) =>
            {
                let what = format!("{:?} pays for what all share: {why}", claim.run);
                self.cluster.check.breach(what);
            }
            Action::Driver(DriverAction::Reuse { claim, .. }) if self.in_charge.get() => {
                self.cluster.counts.borrow_mut().reused += 1;
                if let Some(machine) = self.cluster.machine(&claim.controller) {
                    machine.hand_over(&claim.partition, Maker::Us(claim.run));
                }
            }
            Action::Driver(DriverAction::Keep(..)) => self.cluster.counts.borrow_mut().kept += 1,
            _ => {}
        }
    }

    /// The caller of a create. The intent of a run must be on record by now.
    pub fn about_to_make(&self, partition: &PartitionId) -> Maker {
        if pool::has(partition) {
            self.cluster.note(format!("[{}] call create {partition}", self.term));
            return Maker::Pool;
        }
        let run = self.frontend.ledger().holder(partition).expect("a create has a claim").run;
        self.cluster.note(format!("[{}] call create {partition}", self.term));
        let on_record = self.cluster.disk.on_record(partition);
        if self.in_charge.get() && on_record != Some(run) {
            let what = format!("{partition} is asked for by {run:?} and on record for {on_record:?}");
            self.cluster.check.breach(what);
        }
        Maker::Us(run)
    }

    /// Checks that a partition which a call of this slurmctld removes or resets has no owner. The slurmctld may
    /// have ended by then.
    pub fn about_to_change(&self, what: &str, machine: &Machine, partition: &PartitionId) {
        self.cluster.note(format!("[{}] call {what} {partition}", self.term));
        self.cluster.counts.borrow_mut().removals += u64::from(what == "remove");
        let Some(tag) = machine.tag(partition.as_str()) else { return };
        match tag.maker {
            _ if what == "remove" && pool::has(partition) => {
                self.cluster.check.breach(format!("{what} of {partition}, which is of a pool"));
            }
            Maker::Others => self.cluster.check.breach(format!("{what} of {partition}, which others made")),
            Maker::Pool => {}
            Maker::Us(run) => {
                let runs = |job: &Job| job.has(partition, run) && job.state == State::Running;
                // The run may have begun on a second partition, after the create of this one was given up.
                let is_left =
                    |left: JobRun| is_of(left, run) && self.cluster.disk.on_record(partition) == Some(left);
                let is_used = self.cluster.slurm.borrow().jobs.get(&run.job).is_some_and(runs)
                    || self.cluster.unsaved_launch(is_left).is_some();
                if self.in_charge.get() && is_used {
                    self.cluster.check.breach(format!("{what} of {partition} under {run:?}, which runs"));
                }
            }
        }
    }

    fn with_job<T>(&self, id: u32, work: impl FnOnce(&mut Job) -> T) -> Option<T> {
        self.cluster.slurm.borrow_mut().jobs.get_mut(&id).map(work)
    }

    /// The claims that are not over, in words, without partitions of the pool that wait for a job.
    pub fn claims(&self) -> Vec<String> {
        let claims = self.frontend.ledger().view().claims;
        let waits = |phase: &Phase| matches!(phase, Phase::Idle { .. } | Phase::Kept { .. });
        let in_pool = |it: &ClaimView| pool::has(&it.claim.partition) && waits(&it.phase);
        claims
            .into_iter()
            .filter(|it| !in_pool(it))
            .map(|it| format!("claim of {}: {:?}", it.claim.partition, it.phase))
            .collect()
    }

    /// Calls `work` at this time, if this slurmctld is still in charge then.
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

impl Host for Slurmctld {
    fn send(&self, action: HostAction) {
        // The receiver ends together with this one.
        let _ = self.host.send(HostTask::Act(action));
    }
}

/// The environment of the driver.
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

    fn unix_time(&self) -> Seconds {
        Seconds(self.ctld.cluster.seconds())
    }

    fn report(&self, event: Event) {
        self.ctld.report(event);
    }
}
