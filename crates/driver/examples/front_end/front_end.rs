//! The front end: the jobs, and everything between them and the ledger.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use driver::{Handle, Host, LiveRecord};
use ledger::{Claim, Ending, Event, HostAction, KnownJobs, Ledger, ModelFacts, Rank, Wish};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;
use vipu_client::Client;
use vipu_types::{ControllerName, Gcd, IpuCount, JobRun, ModelName, Shape};

use crate::Result;
use crate::clocks::{since, unix_time};

/// The time limit of each job.
pub const LIMIT: Duration = Duration::from_secs(600);

/// The longest time between two questions whether waiting jobs may start. Some reasons to wait end by time alone.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// Something that the front end has to see to.
pub enum Message {
    /// A fact for the ledger.
    Tell(Event),
    /// An action of the ledger on the jobs.
    Act(HostAction),
}

/// The queue to the front end.
#[derive(Clone)]
pub struct Inbox(pub UnboundedSender<Message>);

impl Inbox {
    pub fn put(&self, message: Message) {
        // A send fails only after the front end has ended.
        let _ = self.0.send(message);
    }
}

impl Host for Inbox {
    fn send(&self, action: HostAction) {
        self.put(Message::Act(action));
    }
}

/// A job that waits.
pub struct Job {
    pub id: u32,
    pub restart: u16,
    pub ipus: IpuCount,
}

/// The front end: jobs on one side, ledger and driver on the other.
pub struct FrontEnd {
    pub waiting: Vec<Job>,
    pub running: KnownJobs,
    pub model: ModelName,
    pub directory: Arc<Path>,
    pub ledger: Ledger,
    pub driver: Handle<Client>,
    pub inbox: Inbox,
    pub clock: Instant,
}

impl FrontEnd {
    /// Runs all jobs. Returns when their partitions are gone.
    pub async fn run(
        mut self,
        facts: ModelFacts,
        left: Vec<LiveRecord>,
        mut messages: UnboundedReceiver<Message>,
    ) -> Result<()> {
        self.tell(Event::Models(vec![facts]));
        // Partitions of an earlier front end, from the journal. The jobs of this one all begin anew.
        left.into_iter().for_each(|record| self.tell(Event::Orphan(record.claim)));
        while !self.waiting.is_empty() || !self.ledger.view().claims.is_empty() {
            match timeout(ASK_AGAIN, messages.recv()).await {
                Ok(Some(Message::Tell(event))) => self.tell(event),
                Ok(Some(Message::Act(action))) => self.act(action)?,
                Ok(None) => return Err("nobody sends messages any more".into()),
                Err(_) => self.schedule()?,
            }
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        if let Event::Fini { job, .. } = event {
            self.running.ends.remove(&job);
        }
        let actions = self.ledger.apply(since(self.clock), event);
        self.driver.route(actions, &self.inbox);
    }

    fn act(&mut self, action: HostAction) -> Result<()> {
        match action {
            HostAction::KickScheduler => self.schedule()?,
            HostAction::OpenLaunch(claim) => {
                self.tell(Event::Launched(claim.partition.clone()));
                tokio::spawn(program(claim, Arc::clone(&self.directory), self.inbox.clone()));
            }
            HostAction::FailRun(claim, reason) => self.end(&claim, &reason),
            HostAction::SendBack(claim, reason) => {
                self.end(&claim, &reason);
                let restart = claim.run.restart + 1;
                self.waiting.push(Job { id: claim.run.job, restart, ipus: claim.size });
                self.schedule()?;
            }
            // A program tells its end itself, so no process is left.
            HostAction::AwaitNodes(claim) => self.tell(Event::NodesDone(claim.partition)),
            HostAction::Broken(claim, reason) => println!("{}: {reason}", claim.run),
            // The rest is for partitions that stay or move, and for Slurm's way to end a job.
            _ => {}
        }
        Ok(())
    }

    /// Begins each waiting job that may start now.
    fn schedule(&mut self) -> Result<()> {
        self.running.now = unix_time();
        for job in std::mem::take(&mut self.waiting) {
            let rank = Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job.id) };
            let (model, size) = (self.model.clone(), job.ipus);
            let wish = Wish { model, size, rank, duration: LIMIT, controllers: None };
            match self.ledger.may_start(&wish, &self.running) {
                Ok(controller) => self.begin(&job, controller)?,
                Err(reason) => {
                    println!("job {}: {reason}", job.id);
                    self.waiting.push(job);
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, job: &Job, controller: ControllerName) -> Result<()> {
        let (now, model) = (self.running.now, self.model.clone());
        let id = self.ledger.new_id(since(self.clock), &model, job.id, job.restart);
        self.running.ends.insert(job.id, now.later_by(LIMIT));
        self.tell(Event::begin(Claim {
            partition: id.ok_or("no id for another partition")?,
            run: JobRun { job: job.id, restart: job.restart, start: now.0 },
            task: None,
            user: 1000,
            model,
            controller,
            size: job.ipus,
            shape: Shape::default(),
            slurm_partition: None,
            ipus: vec![],
            nodes: vec![],
        }));
        Ok(())
    }

    /// Ends a run that gets no partition.
    fn end(&mut self, claim: &Claim, reason: &str) {
        println!("{}: {reason}", claim.run);
        self.tell(Event::Fini { job: claim.run.job, ending: Ending::Unheld });
    }
}

/// The program of a job: reads the partition's IPUoF file, as Poplar does, and ends.
async fn program(claim: Claim, directory: Arc<Path>, inbox: Inbox) {
    let file = directory.join(format!("{}.conf", claim.partition));
    let config = fs::read(&file).map_err(|error| error.to_string());
    match config.and_then(|text| serde_json::from_slice::<Gcd>(&text).map_err(|error| error.to_string())) {
        Ok(gcd) => println!("{}: runs on {} with {} IPUs", claim.run, claim.partition, gcd.devices.len()),
        Err(error) => println!("{}: {}: {error}", claim.run, file.display()),
    }
    inbox.put(Message::Tell(Event::Fini { job: claim.run.job, ending: Ending::Unheld }));
}
