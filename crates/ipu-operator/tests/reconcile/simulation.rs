//! Random jobs and faults, by a seed: no IPU is used twice, no partition is left, no job is stuck.
//!
//! A failure names the seed. `SIMULATION_SEED=17 cargo test -p ipu-operator --test reconcile simulation` plays it
//! again.

use std::collections::VecDeque;

use ipu_operator::reconcile::Step;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::engine::Engine;
use crate::operator::{Cache, Faults, NoFaults, Operator, World};
use crate::scene::{check, job};

/// The number of seeds that are played. `SIMULATION_SEED` plays one other.
const SEEDS: u64 = 60;

/// Ticks with faults, and ticks in which everything has to end.
const FAULTY: u64 = 150;
const QUIET: u64 = 1_500;

/// Snapshots of which a cache may be late.
const LATE: usize = 6;

struct Dice(StdRng);

impl Dice {
    fn of(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    fn below(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        (!all.is_empty()).then(|| all[self.below(all.len())].clone())
    }
}

impl Faults for Dice {
    fn dies(&mut self) -> bool {
        self.percent(2)
    }
    fn fails(&mut self) -> bool {
        self.percent(5)
    }
    fn repeats(&mut self) -> bool {
        self.percent(10)
    }
}

/// A play: the world, the operator, and snapshots of which its caches may have an earlier one.
struct Play {
    world: World,
    operator: Operator,
    dice: Dice,
    /// The last one is of now.
    snapshots: VecDeque<Cache>,
    /// How many snapshots ago the operator's caches of jobs and of Pods were right. They never go back.
    late: [usize; 2],
    jobs: usize,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::of(seed);
        let mut engine = Engine::new(16);
        engine.slowness = u32::try_from(dice.below(4)).unwrap();
        let world = World { cluster: Cluster::new(3), engine };
        Self { world, operator: Operator::default(), dice, snapshots: VecDeque::new(), late: [0; 2], jobs: 0 }
    }

    fn random_job(&mut self) {
        let dice = &mut self.dice;
        let mut spec = json!({
            "jobInstances": 1 + dice.below(3),
            "ipusPerJobInstance": 1 << dice.below(5),
            "cleanPodPolicy": dice.pick(&["None", "Workers", "All"]),
            "restartPolicy": {
                "type": dice.pick(&["Never", "OnFailure", "Always", "ExitCode"]),
                "backOffLimit": dice.below(4),
            },
        });
        let mut add =
            |member: &str, value: Value| drop(spec.as_object_mut().unwrap().insert(member.to_owned(), value));
        match dice.below(4) {
            0 => add("launcher", json!({"command": ["mpirun"]})),
            1 => add("interactive", json!({"ttl": 100 * (1 + dice.below(20))})),
            _ => {}
        }
        for member in ["activeDeadlineSeconds", "ttlSecondsAfterFinished", "keepPartitionSeconds"] {
            if dice.percent(20) {
                add(member, json!(60 * (1 + dice.below(20))));
            }
        }
        self.jobs += 1;
        // Names come again.
        let name = format!("job-{}", self.jobs % 6);
        if !self.world.cluster.jobs.contains_key(&name) {
            self.world.cluster.create_job(job(&name, &spec));
        }
    }

    /// Something that users, nodes or administrators do.
    fn happen(&mut self) {
        let names: Vec<_> = self.world.cluster.jobs.keys().cloned().collect();
        let pods: Vec<_> = self.world.cluster.pods.keys().cloned().collect();
        let (cluster, dice) = (&mut self.world.cluster, &mut self.dice);
        let node = dice.below(cluster.nodes.len());
        match dice.below(14) {
            0..=2 => self.random_job(),
            3..=5 => {
                let code = [0, 0, 1, 137][dice.below(4)];
                dice.pick(&pods).iter().for_each(|pod| cluster.exit(pod, code));
            }
            6 => dice.pick(&names).iter().for_each(|name| cluster.delete_job(name)),
            7 => {
                let count = i32::try_from(1 + dice.below(4)).unwrap();
                dice.pick(&names)
                    .iter()
                    .for_each(|name| cluster.change(name, |job| job.spec.job_instances = count));
            }
            8 => dice.pick(&pods).iter().for_each(|pod| cluster.delete_pod(pod)),
            9 => {
                let dies = dice.percent(50);
                cluster.lose(node, dies);
            }
            10 => cluster.recover(node),
            11 => cluster.remove_node(node),
            12 => match cluster.refuses.pop() {
                Some(_) => {}
                None => cluster.refuses.extend(dice.pick(&names)),
            },
            _ => self.world.engine.break_one(dice.below(8)),
        }
    }

    fn programs_end(&mut self) {
        for name in self.world.cluster.pods.keys().cloned().collect::<Vec<_>>() {
            if self.dice.percent(3) {
                self.world.cluster.exit(&name, 0);
            }
        }
    }

    fn tick(&mut self, is_faulty: bool) {
        self.world.cluster.tick();
        self.world.engine.tick();
        self.snapshots.push_back(Cache::of(&self.world.cluster));
        if self.snapshots.len() > LATE {
            self.snapshots.pop_front();
        }
        let last = self.snapshots.len() - 1;
        for late in &mut self.late {
            let now = if is_faulty { self.dice.below(LATE) } else { 0 };
            *late = now.min(*late + 1).min(last);
        }
        let [jobs, pods] = self.late.map(|late| &self.snapshots[last - late]);
        let cache = Cache { jobs: jobs.jobs.clone(), pods: pods.pods.clone() };
        for uid in self.world.uids(&cache).into_keys() {
            let faults: &mut dyn Faults = if is_faulty { &mut self.dice } else { &mut NoFaults };
            if self.operator.reconcile(&mut self.world, &cache, &uid, faults).is_err() {
                // The next operator lists everything as it begins.
                self.late = [0; 2];
                return;
            }
            check(&self.world);
        }
    }

    /// All faults end.
    fn calm(&mut self) {
        let cluster = &mut self.world.cluster;
        cluster.refuses.clear();
        for node in 0..cluster.nodes.len() {
            cluster.recover(node);
        }
    }

    /// The jobs that have not ended, but one.
    fn unfinished(&self, except: &str) -> Vec<String> {
        let jobs = self.world.cluster.jobs.iter().filter(|(name, _)| *name != except);
        let unfinished = jobs.filter_map(|(name, job)| {
            let status = job.status.as_ref();
            let is_over = status.is_some_and(|status| status.completion_time.is_some());
            (!is_over).then(|| format!("{name}: {status:?}"))
        });
        unfinished.collect()
    }
}

fn play(seed: u64) -> Play {
    let mut play = Play::new(seed);
    for _ in 0..FAULTY {
        if play.dice.percent(60) {
            play.happen();
        }
        play.tick(true);
    }
    play.calm();
    for _ in 0..QUIET {
        play.programs_end();
        play.tick(false);
        if play.unfinished("").is_empty() && play.world.engine.is_empty() {
            break;
        }
    }
    assert!(play.unfinished("").is_empty(), "seed {seed}: stuck: {:?}", play.unfinished(""));
    assert!(play.world.engine.is_empty(), "seed {seed}: partitions of finished jobs are left");
    for name in play.world.cluster.jobs.keys().cloned().collect::<Vec<_>>() {
        play.world.cluster.delete_job(&name);
    }
    (0..20).for_each(|_| play.tick(false));
    assert!(
        play.world.cluster.jobs.is_empty() && play.world.cluster.pods.is_empty(),
        "seed {seed}: objects are left"
    );
    play
}

#[test]
fn k8s_simulation_leaves_nothing_whatever_happens() {
    if let Ok(seed) = std::env::var("SIMULATION_SEED") {
        play(seed.parse().unwrap());
        return;
    }
    let (mut completed, mut restarted, mut blocked) = (0, 0, 0);
    for seed in 0..SEEDS {
        let play = std::panic::catch_unwind(|| play(seed)).unwrap_or_else(|_| panic!("seed {seed} failed"));
        let count =
            |reason| play.world.cluster.events.iter().filter(|(_, event, _)| *event == reason).count();
        completed += count("IPUJobSucceeded");
        restarted += count("IPUJobRestarting");
        blocked += count("PodsCannotStart");
    }
    println!("{completed} jobs completed, {restarted} restarts, {blocked} times Pods could not start");
    let enough = usize::try_from(SEEDS).unwrap();
    assert!(
        completed > enough && restarted > enough && blocked * 10 > enough,
        "too little happens to say anything"
    );
}

/// One fault never ends, and all jobs without a part in it go on.
#[test]
fn k8s_simulation_goes_on_beside_faults_that_never_end() {
    for seed in 0..10 {
        for fault in 0..3 {
            let mut play = Play::new(seed);
            play.world.cluster.create_job(job("victim", &json!({"ipusPerJobInstance": 8})));
            match fault {
                0 => play.world.cluster.refuses.push("victim".to_owned()),
                1 => play.world.cluster.unscheduled.push("victim".to_owned()),
                // Its node does not come back, so its IPUs stay.
                _ => {
                    (0..12).for_each(|_| play.tick(false));
                    let node = play.world.cluster.pods["victim-worker-0"].node.unwrap();
                    play.world.cluster.lose(node, false);
                }
            }
            for number in 0..4 {
                let spec = json!({"ipusPerJobInstance": 8, "jobInstances": 1 + number % 2});
                play.world.cluster.create_job(job(&format!("job-{number}"), &spec));
            }
            for _ in 0..QUIET {
                let names: Vec<_> = play.world.cluster.pods.keys().cloned().collect();
                for name in names.iter().filter(|name| !name.starts_with("victim")) {
                    if play.dice.percent(5) {
                        play.world.cluster.exit(name, 0);
                    }
                }
                play.tick(false);
                if play.unfinished("victim").is_empty() {
                    break;
                }
            }
            let stuck = play.unfinished("victim");
            assert!(stuck.is_empty(), "seed {seed}, fault {fault}: {stuck:?}");
        }
    }
}

/// A plan that is carried out twice does what it does once, and a world that stands still comes to rest.
#[test]
fn k8s_simulation_plans_are_idempotent() {
    for seed in 0..30 {
        let mut play = Play::new(seed);
        for _ in 0..60 {
            if play.dice.percent(60) {
                play.happen();
            }
            play.tick(true);
            let mut rounds = 0;
            loop {
                let cache = Cache::of(&play.world.cluster);
                let mut steps = Vec::new();
                for uid in play.world.uids(&cache).into_keys() {
                    let plan = play.operator.reconcile(&mut play.world, &cache, &uid, &mut NoFaults);
                    steps.extend(plan.ok().unwrap().steps);
                }
                // A Pod that is refused is tried again and again.
                if steps.iter().all(|step| matches!(step, Step::CreatePod { .. })) {
                    break;
                }
                rounds += 1;
                assert!(rounds < 10, "seed {seed}: {steps:?}");
            }
        }
    }
}
