//! Two jobs and a Pod of 16 IPUs: each event that the ledger is told, and the actions that it returns.
//!
//! Nothing is carried out. The answers of driver and host are written into [`play`]. `two_jobs.txt` is the output.
//!
//! ```console
//! $ cargo run -p ledger --example two_jobs
//! ```

use std::cmp::Reverse;
use std::error::Error;
use std::time::Duration;

use ledger::{
    Action, Claim, DriverAction, Ending, Event, HostAction, KnownJobs, Ledger, Millis, ModelFacts, Rank, Wish,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PodId, Shape};

/// The time limit of both jobs.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", play()?);
    Ok(())
}

/// Plays the two jobs. Returns what happened, line by line.
fn play() -> Result<String, Box<dyn Error>> {
    let model = ModelName::new("pod16")?;
    let controller = ControllerName::new("vipu.example.org", 8090)?;
    let pod = PodId { model: model.clone(), controller: controller.clone() };
    let facts = ModelFacts::new(model.clone(), vec![controller], IpuCount::new(16)?);
    let facts = ModelFacts { prefix: "job".into(), ..facts };
    let jobs = KnownJobs { patience: LIMIT, ..KnownJobs::default() };
    let mut site = Site { ledger: Ledger::new(), jobs, lines: String::new() };

    site.tell("configured", Event::Models(vec![facts]));
    let listing = Event::Inventory { pod, asked: site.clock(), ipus: 16, faulty: 0, partitions: vec![] };
    site.tell("the controller lists 16 IPUs", listing);

    let first = site.begin(&model, 1, 16)?.ok_or("the first job has to wait")?;
    site.tell("create sent", Event::CreateStarted(first.partition.clone()));
    site.begin(&model, 2, 8)?;
    site.tell("partition ready", Event::Up(first.partition.clone()));
    site.tell("job 1 started", Event::Launched(first.partition.clone()));
    site.tell("job 1 ended", Event::Fini { job: 1, ending: Ending::Unheld });
    site.tell("no process left", Event::NodesDone(first.partition.clone()));
    site.tell("partition removed", Event::Gone(first.partition));
    site.begin(&model, 2, 8)?;
    Ok(site.lines)
}

struct Site {
    ledger: Ledger,
    /// The time, in seconds since the start, and the latest ends of the jobs.
    jobs: KnownJobs,
    lines: String,
}

impl Site {
    fn clock(&self) -> Millis {
        Millis(self.jobs.now.0.unsigned_abs() * 1000)
    }

    fn tell(&mut self, words: &str, event: Event) {
        self.jobs.now.0 += 1;
        let actions = self.ledger.apply(self.clock(), event);
        assert_eq!(self.ledger.violations(), []);
        self.lines += &format!("{words}\n");
        self.lines.extend(actions.iter().map(|action| format!("    -> {}\n", duty(action))));
    }

    /// Begins a job if it may start. Otherwise it stays in line.
    fn begin(&mut self, model: &ModelName, job: u32, ipus: u64) -> Result<Option<Claim>, Box<dyn Error>> {
        let now = self.jobs.now;
        let rank = Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job) };
        let size = IpuCount::new(ipus)?;
        let wish = Wish {
            model: model.clone(),
            size,
            rank,
            duration: LIMIT,
            controllers: None,
            components: Default::default(),
        };
        let controller = match self.ledger.may_start(&wish, &self.jobs) {
            Ok(controller) => controller,
            Err(reason) => {
                let start = self.ledger.forecast(&wish, now, &self.jobs).ok_or("no forecast")?;
                self.lines += &format!("job {job} waits: {reason}; starts in {} s\n", start.0 - now.0);
                return Ok(None);
            }
        };
        let claim = Claim {
            partition: self.ledger.new_id(self.clock(), model, job, 0).ok_or("no id")?,
            run: JobRun { job, restart: 0, start: now.0 },
            task: None,
            user: 1000,
            model: model.clone(),
            controller,
            size,
            shape: Shape::default(),
            slurm_partition: None,
            ipus: vec![],
            nodes: vec![],
        };
        self.jobs.ends.insert(job, now.later_by(LIMIT));
        self.tell(&format!("job {job} begins"), Event::begin(claim.clone()));
        Ok(Some(claim))
    }
}

/// The duty that an action is to its executor.
fn duty(action: &Action) -> String {
    match action {
        Action::Driver(DriverAction::Survey(pod)) => format!("driver: list IPUs and partitions of {pod}"),
        Action::Driver(DriverAction::Create(claim)) => {
            format!("driver: create {} with {} IPUs, write its files", claim.partition, claim.size)
        }
        Action::Driver(DriverAction::Remove(claim)) => {
            format!("driver: remove {} and its files", claim.partition)
        }
        Action::Host(HostAction::OpenLaunch(claim)) => format!("host: let {} run", claim.run),
        Action::Host(HostAction::AwaitNodes(claim)) => format!("host: wait for processes of {}", claim.run),
        Action::Host(HostAction::KickScheduler) => "host: look at the waiting jobs".into(),
        other => format!("{other:?}"),
    }
}

#[test]
fn cli_example_two_jobs_prints_what_its_file_says() -> Result<(), Box<dyn Error>> {
    assert_eq!(play()?, include_str!("two_jobs.txt"));
    Ok(())
}
