//! A ledger driven by a script, in which events and actions are short words.
//!
//! A run is written like its partition id: `7` for job 7, `7r1` for its first requeue, `7p1` for a further
//! partition of the run. An action names the job, too, if the partition was another job's first: `launch 7 for 8`.
//! A partition with a name of its own, as in a pool, is written with that name.

use std::cmp::Reverse;
use std::time::Duration;

use ledger::{
    Action, AdoptedAs, Claim, Drain, DrainScope, DrainedPart, DriverAction, Ending, Event, Holder,
    HostAction, IdleRules, KeepIdleFor, KnownJobs, Ledger, Millis, ModelFacts, Place, Placement, Rank,
    ReuseReset, Seconds, SeenPartition, Wish, span,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};

/// A ledger with a clock that each event advances.
pub struct Scripted {
    pub ledger: Ledger,
    pub now: Millis,
}

impl Scripted {
    /// Creates a ledger with one Pod64 whose controller has not answered yet.
    pub fn new() -> Self {
        let mut scripted = Self { ledger: Ledger::new(), now: Millis(1000) };
        assert_eq!(scripted.tell(Event::Models(vec![pod("pod64")])), "survey pod64");
        scripted
    }

    /// Tells the ledger an event and returns the actions in words. Checks that all invariants hold, and that
    /// the scheduler is woken when more fits.
    pub fn tell(&mut self, event: Event) -> String {
        self.now.0 += 1;
        let (before, told) = (self.largest(), format!("{event:?}"));
        let actions = self.ledger.apply(self.now, event);
        assert_eq!(self.ledger.violations(), [], "after {told}");
        let kicks = actions.contains(&Action::Host(HostAction::KickScheduler));
        assert!(kicks || self.largest() <= before, "more fits after {told}, but nobody told the scheduler");
        actions.iter().map(short).collect::<Vec<_>>().join(", ")
    }

    /// Tells a listing of a pod64 with 64 IPUs, asked for after all events so far. Returns the actions in
    /// words.
    pub fn lists(&mut self, partitions: Vec<SeenPartition>) -> String {
        self.now.0 += 1;
        self.tell(listing(self, 64, partitions))
    }

    /// Returns the largest size that fits on pod64.
    fn largest(&self) -> Option<u64> {
        (0..7).rev().map(|order| 1 << order).find(|&size| asks(self, "pod64", size) == "fits")
    }

    /// Plays a job from its begin until it runs.
    pub fn runs(&mut self, job: u32) {
        self.play(&format!(
            "begin {job}     -> create {job}
             up {job}        -> launch {job}, survey pod64
             launched {job}  ->"
        ));
    }

    /// Plays `event -> actions`, line by line.
    pub fn play(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (event, actions) = line.split_once("->").unwrap_or_else(|| panic!("no '->' in '{line}'"));
            assert_eq!(self.tell(event_of(event)), actions.trim(), "in the line '{line}' of\n{script}");
        }
    }
}

/// Returns a model with one controller and a job limit of 64.
pub fn pod(model: &str) -> ModelFacts {
    let PodId { model, controller } = id(model, "vipu");
    ModelFacts::new(model, vec![controller], IpuCount::new(64).unwrap())
}

/// Returns a Pod64 whose controller answered, and whose partitions stay idle for 1,000 s. `most` is KeepIdleMax.
pub fn idle_pod(reset: ReuseReset, most: Option<u32>) -> Scripted {
    let mut scripted = empty_pod();
    let (keep, keep_for) = (Duration::from_secs(1000), KeepIdleFor::AnyJob);
    let idle = IdleRules { keep, keep_for, most, reset, settings: 0 };
    scripted.tell(Event::Models(vec![ModelFacts { idle, ..pod("pod64") }]));
    scripted
}

/// Returns the Pod of the model's controller on this host.
pub fn id(model: &str, host: &str) -> PodId {
    let controller = ControllerName::new(host, 8090).unwrap();
    PodId { model: ModelName::new(model).unwrap(), controller }
}

/// Returns a claim of 16 IPUs on pod64's first controller. A name instead of a run is that of the partition.
pub fn claim(run: &str) -> Claim {
    if run.starts_with(char::is_alphabetic) {
        return Claim { partition: PartitionId::new(run).unwrap(), ..claim("1") };
    }
    let (run, further) = run.split_once('p').unwrap_or((run, "0"));
    let (job, restart) = run.split_once('r').unwrap_or((run, "0"));
    let run = JobRun { job: job.parse().unwrap(), restart: restart.parse().unwrap(), start: 1_800_000_000 };
    let further = further.parse().unwrap();
    let PodId { model, controller } = id("pod64", "vipu");
    Claim {
        partition: PartitionId::further("slurm", run.job, run.restart, further).unwrap(),
        run,
        task: None,
        user: 1000,
        model,
        controller,
        size: IpuCount::new(16).unwrap(),
        shape: Shape::default(),
        slurm_partition: Some("ipu".into()),
        ipus: vec![],
        nodes: vec![],
    }
}

/// Returns a listing of pod64, asked for just now.
pub fn listing(scripted: &Scripted, ipus: u32, partitions: Vec<SeenPartition>) -> Event {
    Event::Inventory { pod: id("pod64", "vipu"), asked: scripted.now, ipus, faulty: 0, partitions }
}

pub fn model(name: &str) -> ModelName {
    ModelName::new(name).unwrap()
}

/// Returns a partition on the IPUs of domain 0 with these indexes.
pub fn seen(id: &str, indexes: impl IntoIterator<Item = u32>) -> SeenPartition {
    let places = indexes.into_iter().map(|index| Place { domain: 0, index }).collect();
    SeenPartition { partition: PartitionId::new(id).unwrap(), places, fault: None, leaving: false }
}

/// Returns a Pod64 on which these jobs run. Each is given as job, number of IPUs and first IPU.
pub fn pod_with(placement: Placement, jobs: &[(u32, u32, u32)]) -> Scripted {
    let mut scripted = Scripted::new();
    scripted.tell(Event::Models(vec![ModelFacts { placement, ..pod("pod64") }]));
    let mut there = vec![];
    for &(job, ipus, first) in jobs {
        let size = IpuCount::new(ipus.into()).unwrap();
        scripted.tell(Event::begin(Claim { size, ..claim(&job.to_string()) }));
        there.push(seen(&format!("slurm_{job}"), first..first + ipus));
    }
    scripted.lists(there);
    scripted
}

/// Returns a Pod64 on which these jobs have this many IPUs each, one job after the other.
pub fn row_of(jobs: &[(u32, u32)]) -> Scripted {
    let mut end = 0;
    let jobs = jobs.iter().map(|&(job, ipus)| {
        end += ipus;
        (job, ipus, end - ipus)
    });
    pod_with(Placement::Controller, &jobs.collect::<Vec<_>>())
}

/// Returns the ledger's answer to a job that wants this many IPUs, or `fits`.
pub fn asks(scripted: &Scripted, name: &str, size: u64) -> String {
    let answer = scripted.ledger.fits_now(&model(name), IpuCount::new(size).unwrap());
    answer.map_or_else(|wait| wait.to_string(), |_| "fits".into())
}

/// Returns the number of partitions of others on pod64's controller on this host.
pub fn foreign(scripted: &Scripted, host: &str) -> usize {
    let held = scripted.ledger.held(&id("pod64", host));
    held.iter().filter(|held| matches!(held.by, Holder::Foreign { .. })).count()
}

/// Returns a Pod64 as [`empty_pod`], with a second controller on host `b` that has 4 IPUs.
pub fn pod_with_a_second_controller() -> Scripted {
    let mut scripted = empty_pod();
    let controllers = ["vipu", "b"].map(|host| id("pod64", host).controller).to_vec();
    scripted.tell(Event::Models(vec![ModelFacts { controllers, ..pod("pod64") }]));
    let (pod, asked) = (id("pod64", "b"), scripted.now);
    scripted.tell(Event::Inventory { pod, asked, ipus: 4, faulty: 0, partitions: vec![] });
    scripted
}

/// Returns a Pod64 without partitions whose controller answered.
pub fn empty_pod() -> Scripted {
    let mut scripted = Scripted::new();
    assert_eq!(scripted.lists(vec![]), "kick");
    scripted
}

/// Returns Slurm's jobs. Jobs with an end run, the others wait.
pub fn jobs(now: i64, ends: &[(u32, i64)]) -> KnownJobs {
    let ends = ends.iter().map(|&(job, end)| (job, Seconds(end))).collect();
    KnownJobs { now: Seconds(now), ends, patience: Duration::from_secs(60), ..KnownJobs::default() }
}

/// Returns the wish of a job on pod64. Jobs with a lower id go first.
pub fn wish(job: u32, ipus: u64, duration: i64) -> Wish {
    let rank = Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job) };
    Wish {
        model: ModelName::new("pod64").unwrap(),
        size: IpuCount::new(ipus).unwrap(),
        rank,
        duration: span(duration),
        controllers: None,
        components: Default::default(),
    }
}

/// Returns the time from 0 on at which this many IPUs fit, given the ends of jobs. Jobs that are missing in
/// `ends` have ended.
pub fn earliest(scripted: &mut Scripted, ipus: u64, ends: &[(u32, i64)]) -> Option<i64> {
    let line = jobs(0, ends);
    scripted.ledger.forecast(&wish(99, ipus, 1), Seconds(0), &line).map(|start| start.0)
}

pub fn event_of(text: &str) -> Event {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (what, mut run) = (words[0], claim(words[1]));
    if words.contains(&"later") {
        run.run.start += 1;
    }
    for pair in words[2..].windows(2) {
        match pair {
            ["on", other] => run.partition = claim(other).partition,
            ["of", size] => run.size = IpuCount::new(size.parse().unwrap()).unwrap(),
            ["as", user] => run.user = user.parse().unwrap(),
            _ => {}
        }
    }
    let ending = if words.get(2) == Some(&"held") { Ending::Held } else { Ending::Unheld };
    match what {
        "prepare" => {
            let early = JobRun::waiting(run.run.job, run.run.restart, 1_799_999_999);
            Event::Prepare(Claim { run: early, ..run })
        }
        "forgo" => Event::Forgo { job: run.run.job, in_vain: words.get(2) == Some(&"in-vain") },
        "begin" => Event::begin(run),
        "adopt-starting" => Event::Adopt(run, AdoptedAs::Starting),
        "adopt-running" => Event::Adopt(run, AdoptedAs::Running),
        "adopt-ending" => Event::Adopt(run, AdoptedAs::Ending),
        "orphan" => Event::Orphan(run),
        "fini" => Event::Fini { job: run.run.job, ending },
        "fails" => Event::Failed { job: run.run.job, ending, keep_until: Seconds(100) },
        "adopt-kept" => Event::Adopt(run, AdoptedAs::Kept(Seconds(100))),
        "recorded" => Event::KeepRecorded(run.partition),
        "keep-over" => Event::KeepOver(run.partition),
        "freed" => Event::Freed(run.partition),
        "started" => Event::CreateStarted(run.partition),
        "up" => Event::Up(run.partition),
        "failed" => Event::CreateFailed { partition: run.partition, reason: "no room".into() },
        "put-off" => Event::CreatePutOff { partition: run.partition, reason: "it is in error".into() },
        "no-room" => Event::NoRoom(run.partition),
        "cancelled" => Event::CreateCancelled(run.partition),
        "launched" => Event::Launched(run.partition),
        "vanished" => Event::RunVanished(run.partition),
        "nodes-unknown" => Event::NodesUnknown(run.partition),
        "nodes-done" => Event::NodesDone(run.partition),
        "away" => Event::Unreachable { pod: run.pod(), reason: "connection refused".into() },
        "idle" => Event::Idle(run.partition),
        "not-idle" => Event::NotIdle(run.partition),
        "overdue" => Event::Overdue(run.partition),
        "gone" => Event::Gone(run.partition),
        other => panic!("no event '{other}'"),
    }
}

/// Returns the scope of a model, or of one of its IPUs in domain 0.
pub fn scope(name: &str, index: Option<u32>) -> DrainScope {
    let part = index.map_or(DrainedPart::All, |index| DrainedPart::Ipu(Place { domain: 0, index }));
    DrainScope { model: model(name), controller: None, part }
}

/// Returns a drain without an end of a model, or of one of its IPUs in domain 0.
pub fn drain(name: &str, index: Option<u32>) -> Event {
    let (reason, by) = ("new switch".to_owned(), "root".to_owned());
    Event::Drain(Drain { scope: scope(name, index), reason, by, since: Seconds(0), until: None })
}

/// Returns the run of a claim as scripts write it.
pub fn run_of(claim: &Claim) -> String {
    run(&claim.partition)
}

fn run(partition: &PartitionId) -> String {
    partition.as_str().trim_start_matches("slurm_").to_owned()
}

/// Returns the partition of a claim, and its job if the id names another one: `7 for 8`.
fn named(claim: &Claim) -> String {
    let (run, job) = (run_of(claim), claim.run.job);
    let is_other = claim.partition.job("slurm").is_some_and(|named| named != job);
    if is_other { format!("{run} for {job}") } else { run }
}

fn short(action: &Action) -> String {
    use Action::{Driver, Host};
    match action {
        Driver(DriverAction::Create(claim)) => format!("create {}", named(claim)),
        Driver(DriverAction::CreateAfter(claim, before)) => {
            let before: Vec<_> = before.iter().map(run).collect();
            format!("create {} after {}", named(claim), before.join(" "))
        }
        Driver(DriverAction::Reuse { claim, reset: false, .. }) => {
            format!("reuse {} for {}", run_of(claim), claim.run.job)
        }
        Driver(DriverAction::Reuse { claim, reset: true, .. }) => {
            format!("reset {} for {}", run_of(claim), claim.run.job)
        }
        Driver(DriverAction::MakeIdle { claim, reset }) => {
            format!("{} {}", if *reset { "idle-reset" } else { "idle" }, named(claim))
        }
        Driver(DriverAction::CancelCreate(id)) => format!("cancel {}", run(id)),
        Driver(DriverAction::Remove(claim)) => format!("remove {}", named(claim)),
        Driver(DriverAction::Bind(claim)) => format!("bind {}", named(claim)),
        Driver(DriverAction::Keep(claim, until)) => format!("keep {} until {}", named(claim), until.0),
        Driver(DriverAction::Withhold(claim, left)) => {
            format!("withhold {} for {}", named(claim), left.as_secs())
        }
        Driver(DriverAction::EndWithheld(id)) => format!("end-withheld {}", run(id)),
        Driver(DriverAction::Unclaimed { seen, .. }) => format!("unclaimed {}", run(&seen.partition)),
        Driver(DriverAction::RemoveForeign { partition, .. }) => format!("foreign {}", run(partition)),
        Driver(DriverAction::Refresh(claim, _)) => format!("refresh {}", named(claim)),
        Driver(DriverAction::Survey(pod)) if pod.controller.host() == "vipu" => {
            format!("survey {}", pod.model)
        }
        Driver(DriverAction::Survey(pod)) => format!("survey {} at {}", pod.model, pod.controller.host()),
        Host(HostAction::OpenLaunch(claim)) => format!("launch {}", named(claim)),
        Host(HostAction::FailRun(claim, reason)) => format!("fail {} ({reason})", named(claim)),
        Host(HostAction::SendBack(claim, reason)) => format!("back {} ({reason})", named(claim)),
        Host(HostAction::AwaitNodes(claim)) => format!("await-nodes {}", named(claim)),
        Host(HostAction::OpenCompletion { claim, launch_raised }) => {
            format!("{} {}", if *launch_raised { "complete-both" } else { "complete" }, named(claim))
        }
        Host(HostAction::DropLaunch(claim)) => format!("drop {}", named(claim)),
        Host(HostAction::Broken(claim, words)) => format!("broken {} ({words})", named(claim)),
        Host(HostAction::EndKeep(claim, _)) => format!("end-keep {}", named(claim)),
        Host(HostAction::TellRelocated(claim)) => format!("relocated {}", named(claim)),
        Host(HostAction::KickScheduler) => "kick".into(),
    }
}

/// Plays each script on a ledger of its own, and checks that all claims are gone at the end.
pub fn play(scripts: &[(&str, &str)]) {
    for (what, script) in scripts {
        println!("{what}");
        let mut scripted = Scripted::new();
        scripted.play(script);
        assert_eq!(scripted.ledger.view().claims, [], "{what}");
    }
}
