//! The random jobs.

use rand::{
    RngExt, SeedableRng,
    rngs::StdRng,
    seq::{IndexedRandom, SliceRandom},
};

use testbed::JobId;

use super::cluster::{PARTITIONS, RESERVATIONS, Selector};
use super::ipus::{self, Nodes};

/// The content of one `sbatch` command.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// The options of each component. Only a heterogeneous job has several.
    components: Vec<Vec<String>>,
    /// The kind of its dependency, and the index of the job that it depends on.
    after: Option<(String, usize)>,
    /// The time limit.
    minutes: u64,
    /// The number of jobs in Slurm's count: tasks of an array, components of a heterogeneous job.
    size: usize,
    /// The number of IPUs. A job with IPUs is not compared.
    ipus: Option<u32>,
}

impl Job {
    /// Returns the options of the job's sbatch. `ids` are those of the jobs before it, `None` for a refused
    /// job.
    pub(super) fn options(&self, index: usize, ids: &[Option<JobId>], selector: Selector) -> Vec<String> {
        let name = self.ipus.map_or(format!("job{index}"), |_| ipus::NAME.into());
        let mut options = vec![format!("--job-name={name}")];
        options.extend(self.ipus.map(|count| ipus::request(selector, count)));
        for (place, component) in self.components.iter().enumerate() {
            options.extend((place > 0).then(|| ":".to_owned()));
            options.push(format!("--time={}", self.minutes));
            options.extend_from_slice(component);
        }
        let after = self.after.as_ref().and_then(|(kind, index)| Some((kind, ids[*index]?)));
        options.extend(after.map(|(kind, id)| format!("--dependency={kind}:{id}")));
        options
    }
}

/// Time limits that make the outcome independent of the second in which a scheduler runs.
///
/// Each job has a different limit, a multiple of [`Limits::STEP`] from `shortest` to twice that. Backfill
/// looks ahead twice as far as the shortest limit. Every planned start is therefore the end of one running
/// job, and no other end is nearer to it than STEP. The selector groups ends by 30 s times a power of two,
/// which is never nearer than 2 min to a difference of two ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    shortest: u64,
}

impl Limits {
    /// Minutes between two limits.
    pub(super) const STEP: u64 = 10;

    /// The furthest that backfill can look ahead, in minutes.
    const FURTHEST: u64 = 30 * 24 * 60;

    pub(super) fn of(jobs: usize) -> Self {
        Self { shortest: Self::STEP * (jobs as u64 + 1) }
    }

    pub(super) fn window_minutes(self) -> u64 {
        Self::FURTHEST.min(2 * self.shortest)
    }

    /// Returns the limit at this rank from the shortest, in minutes.
    fn minutes(self, rank: usize) -> u64 {
        self.shortest + Self::STEP * rank as u64
    }

    /// Returns a moment, in minutes from now, well between the ends of jobs that start about now.
    pub(super) fn between(self) -> u64 {
        self.shortest + self.shortest / 2 / Self::STEP * Self::STEP + Self::STEP / 2
    }
}

/// Draws jobs until Slurm counts `count` jobs, and their limits. With `waiting`, some of them are for IPUs,
/// on these nodes.
pub(super) fn draw(seed: u64, count: usize, waiting: Option<Nodes>) -> (Vec<Job>, Limits) {
    let random = &mut StdRng::seed_from_u64(seed);
    let (mut jobs, mut drawn) = (Vec::new(), 0);
    while drawn < count {
        let job = match waiting.filter(|_| random.random_bool(0.15)) {
            Some(nodes) => for_ipus(random, nodes),
            None => job(random, jobs.len()),
        };
        drawn += job.size;
        jobs.push(job);
    }
    let limits = Limits::of(jobs.len());
    let mut ranks: Vec<_> = (0..jobs.len()).collect();
    ranks.shuffle(random);
    for (job, rank) in jobs.iter_mut().zip(ranks) {
        job.minutes = limits.minutes(rank);
    }
    (jobs, limits)
}

fn job(random: &mut StdRng, index: usize) -> Job {
    let mut job = Job { components: vec![request(random)], size: 1, ..Job::default() };
    match random.random_range(0..20) {
        0..2 => {
            job.components.extend((0..random.random_range(1..=2)).map(|_| request(random)));
            job.size = job.components.len();
            // From 24.11 on, a heterogeneous job in a Slurm partition without room ends the main scheduler's
            // cycle. Jobs with a reservation come before the jobs by which the testbed notices a cycle.
            job.components
                .iter_mut()
                .for_each(|options| options.retain(|option| !option.starts_with("--reservation")));
            // The main scheduler leaves heterogeneous jobs to backfill, and with them all jobs behind them in
            // their Slurm partition.
            job.components[0].extend(random.random_bool(0.7).then(|| "--nice=5000".to_owned()));
        }
        2..4 => {
            job.size = random.random_range(2..=6);
            let throttle = if random.random_bool(0.3) { "%2" } else { "" };
            job.components[0].push(format!("--array=1-{}{throttle}", job.size));
        }
        4..6 if index > 0 => {
            let kind = pick(random, &["after", "after", "afterany", "afternotok"]);
            job.after = Some((kind, index - random.random_range(1..=index.min(20))));
        }
        6..8 => job.components[0].push(format!("--nice={}", random.random_range(1..=60))),
        _ => {}
    }
    job
}

/// Draws a job for IPUs. Some of them come before all other jobs in their Slurm partition.
fn for_ipus(random: &mut StdRng, nodes: Nodes) -> Job {
    let partition = match nodes {
        Nodes::Shared => pick(random, &PARTITIONS),
        Nodes::Apart => ipus::NAME.into(),
    };
    let mut options = vec![size(random), format!("--partition={partition}")];
    options.extend(random.random_bool(0.3).then(|| "--nice=-1000000".to_owned()));
    let ipus = Some(1 << random.random_range(0..=6));
    Job { components: vec![options], size: 1, ipus, ..Job::default() }
}

/// Draws the request of a job or of one component. Some requests cannot be met or contradict themselves: both
/// clusters have to refuse these in the same words.
fn request(random: &mut StdRng) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |option: String| options.push(option);
    add(size(random));
    match random.random_range(0..10) {
        0..5 => {}
        5..7 => add(format!("--cpus-per-task={}", random.random_range(2..=6))),
        7 => add(format!("--ntasks-per-node={}", random.random_range(1..=4))),
        8 => add(format!("--mincpus={}", random.random_range(2..=10))),
        _ => add(pick(
            random,
            &["--hint=nomultithread", "--threads-per-core=1", "--sockets-per-node=2", "--cores-per-socket=8"],
        )),
    }
    match random.random_range(0..10) {
        0..5 => {}
        5..8 => add(format!("--mem={}", random.random_range(1..=60) * 500)),
        8 => add(format!("--mem-per-cpu={}", random.random_range(1..=12) * 250)),
        _ => add("--mem=0".into()),
    }
    match random.random_range(0..16) {
        0..12 => {}
        12 => add(format!("--gpus={}", random.random_range(1..=9))),
        13 => add(format!(
            "--gpus-per-node={}{}",
            pick(random, &["", "tesla:", "volta:"]),
            random.random_range(1..=3)
        )),
        14 => add(format!("--gres=gpu:{}", random.random_range(1..=4))),
        _ => add(format!("--gpus-per-task={}", random.random_range(1..=2))),
    }
    let rarely = [
        (
            0.20,
            vec!["lake", "rome", "ib", "lake|big", "ib&rome", "[lake|rome]", "eth", "[lake*2&big*1]"],
            "--constraint=",
        ),
        (
            0.10,
            vec!["exclusive", "exclusive=user", "oversubscribe", "contiguous", "spread-job", "use-min-nodes"],
            "--",
        ),
        (0.08, vec!["1", "1@30-0", "2@30-0"], "--switches="),
        (0.06, vec!["a03", "b[03-04]", "c02", "a10,c03"], "--nodelist="),
        (0.06, vec!["a[01-06]", "b02", "c[01-06]"], "--exclude="),
        (0.06, vec!["tool:1", "tool:3"], "--licenses="),
        (0.04, vec!["1", "2"], "--core-spec="),
        (0.10, RESERVATIONS.to_vec(), "--reservation="),
        (0.03, vec!["one", "two"], "--dependency=singleton --job-name="),
    ];
    for (often, choices, option) in rarely {
        if random.random_bool(often) {
            let words = format!("{option}{}", pick(random, &choices));
            options.extend(words.split(' ').map(str::to_owned));
        }
    }
    if random.random_bool(0.6) {
        let mut names = PARTITIONS.to_vec();
        names.shuffle(random);
        names.truncate(if random.random_bool(0.2) { 2 } else { 1 });
        options.push(format!("--partition={}", names.join(",")));
    }
    options
}

/// Draws a number of tasks or nodes.
fn size(random: &mut StdRng) -> String {
    match random.random_range(0..10) {
        0..6 => format!("--ntasks={}", random.random_range(1..=8)),
        6..8 => format!("--nodes={}", random.random_range(1..=4)),
        8 => format!("--nodes={}-{}", random.random_range(1..=3), random.random_range(3..=9)),
        _ => format!("--ntasks={}", random.random_range(9..=80)),
    }
}

fn pick(random: &mut StdRng, choices: &[&str]) -> String {
    choices.choose(random).copied().unwrap_or_default().to_owned()
}
