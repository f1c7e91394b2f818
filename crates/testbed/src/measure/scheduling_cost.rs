//! What scheduling costs slurmctld under `select/vipu`, against the stock selector that counts plain GRES.
//!
//! On nodes that exist on paper only, two equal waves of jobs are submitted, half of them IPU jobs. One cycle of the main
//! scheduler starts the first wave, which fills all nodes and the Pod; backfill then looks for the start of each job of
//! the second. So both selectors have the same jobs before them: the first wave finds its IPUs, and the second finds the
//! nodes busy, too. The mock answers no create: partitions are made by threads of their own, and are no part of this.

use std::{path::Path, thread, time::Duration};

use anyhow::{Error, Result, bail, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use tempfile::TempDir;

use super::Ratio;
use crate::{Cluster, Settings, say, wait_for};

/// What slurmctld's time under our selector may be, as a part of that under the stock one.
pub const TARGET: f64 = 1.05;

/// How often backfill runs. The main scheduler has to begin in between.
const BACKFILL_INTERVAL: Duration = Duration::from_secs(3);

/// How often it is tried that it does.
const TRIES: u32 = 3;

/// How long one scheduler's cycle may take.
const LIMIT: Duration = Duration::from_secs(600);

/// CPUs of a node, and of a job: two jobs fill a node.
const NODE_CPUS: u32 = 16;
const JOB_CPUS: u32 = NODE_CPUS / 2;

/// Time limits as people choose them. Their number is odd, so that IPU jobs have each of them.
const HOURS: [u32; 5] = [1, 2, 4, 8, 24];

/// IPUs of the blocks that a Pod is made of.
const LINK_DOMAIN: u32 = 64;

/// How much is scheduled.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Nodes.
    pub nodes: u32,
    /// IPUs of the largest job of the second wave.
    pub largest: u32,
}

impl Scale {
    /// What the target is for.
    pub const FULL: Self = Self { nodes: 1000, largest: 1 };

    /// What takes a minute.
    pub const SMOKE: Self = Self { nodes: 50, largest: 1 };

    /// Jobs of one wave: as many as fill all nodes.
    #[must_use]
    pub fn jobs(self) -> u32 {
        self.nodes * (NODE_CPUS / JOB_CPUS)
    }

    /// The Pod's IPUs: as many as the IPU jobs of the first wave need, in whole domains.
    fn ipus(self) -> u32 {
        (self.jobs() / 2).next_multiple_of(LINK_DOMAIN)
    }

    /// The options of a job. Every second one is an IPU job, and some of those of the first wave need two IPUs, so that
    /// together they need all.
    fn options(self, index: u32) -> Vec<String> {
        let hours = HOURS[index as usize % HOURS.len()];
        let mut options = vec![format!("--ntasks={JOB_CPUS}"), format!("--time={hours}:00:00")];
        if index % 2 == 1 {
            let place = index / 2;
            let ipus = match place.checked_sub(self.jobs() / 2) {
                None => 1 + u32::from(place < self.ipus() - self.jobs() / 2),
                Some(later) => 1 << (later % (self.largest.ilog2() + 1)),
            };
            options.push(format!("--gres=vipu:pod64:{ipus}"));
        }
        options
    }
}

/// Whose selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Stock,
    Ours,
}

impl Side {
    fn settings(self, scale: Scale) -> Settings {
        let nodes = format!(
            "NodeName=n[0001-{:04}] CPUs={NODE_CPUS} State=CLOUD Gres=vipu:pod64:no_consume:64\n\
             PartitionName=main Nodes=n[0001-{:04}] Default=YES State=DOWN\n",
            scale.nodes, scale.nodes
        );
        let schedulers = format!(
            "SchedulerParameters=defer,batch_sched_delay=0,default_queue_depth=1000000,max_sched_time=50,\
             sched_interval=3600,bf_interval={},bf_max_job_test=1000000,bf_max_time=3600,bf_continue,\
             bf_yield_interval=10000000",
            BACKFILL_INTERVAL.as_secs()
        );
        let settings = Cluster::settings()
            .cloud(&nodes)
            .slurm_conf(&schedulers)
            .slurm_conf("ClusterName=cost")
            .slurm_conf("PriorityType=priority/basic")
            .slurm_conf("MaxJobCount=100000")
            .slurm_conf("SlurmctldDebug=info")
            .mock(&["--ipus", &scale.ipus().to_string()])
            .vipu_conf("ApiTimeout=3600");
        match self {
            Self::Stock => settings.without_plugin(),
            Self::Ours => settings,
        }
    }
}

/// What one run of one selector took.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Processor time of slurmctld, over both cycles.
    processor: Duration,
    /// The main scheduler's cycle.
    main: Duration,
    /// The cycle of backfill.
    backfill: Duration,
}

/// One thing that was measured.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// What it is.
    pub name: &'static str,
    /// Seconds under our selector and under the stock one, pair by pair.
    pub pairs: Vec<(f64, f64)>,
}

impl Quantity {
    fn named(name: &'static str) -> Self {
        Self { name, pairs: Vec::new() }
    }

    /// The ratio; `None` before the second pair.
    #[must_use]
    pub fn ratio(&self) -> Option<Ratio> {
        Ratio::of(&self.pairs)
    }

    /// Seconds under our selector and under the stock one, on the average.
    #[must_use]
    pub fn means(&self) -> (f64, f64) {
        let sums = self.pairs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
        let count = self.pairs.len() as f64;
        (sums.0 / count, sums.1 / count)
    }
}

/// Measures pairs, each on fresh daemons, until `enough` says so: processor time first, then the main scheduler's cycle and
/// backfill's.
///
/// # Errors
/// When a cluster does not do what it should.
pub fn compare(scale: Scale, mut enough: impl FnMut(&[Quantity; 3]) -> bool) -> Result<[Quantity; 3]> {
    let (stock, ours) = thread::scope(|scope| {
        let stock = scope.spawn(|| prepare(Side::Stock, scale));
        let ours = prepare(Side::Ours, scale);
        let stock = stock.join().unwrap_or_else(|_| bail!("a cluster's thread panicked"));
        Ok::<_, Error>((stock?, ours?))
    })?;
    let mut quantities = ["processor time", "main cycle", "backfill cycle"].map(Quantity::named);
    loop {
        let stock = || measure_in_order(Side::Stock, scale, stock.path());
        let ours = || measure_in_order(Side::Ours, scale, ours.path());
        // Who goes first changes, lest something else that changes slowly be taken for a difference.
        let (one, two) = if quantities[0].pairs.len() % 2 == 0 {
            let one = stock()?;
            (ours()?, one)
        } else {
            (ours()?, stock()?)
        };
        let both = [(one.processor, two.processor), (one.main, two.main), (one.backfill, two.backfill)];
        for (quantity, (ours, stock)) in quantities.iter_mut().zip(both) {
            quantity.pairs.push((ours.as_secs_f64(), stock.as_secs_f64()));
        }
        if enough(&quantities) {
            return Ok(quantities);
        }
    }
}

/// Submits both waves to a partition that is down, and saves the state of slurmctld.
fn prepare(side: Side, scale: Scale) -> Result<TempDir> {
    say(format!("{side:?}: submitting twice {} jobs to {} nodes", scale.jobs(), scale.nodes));
    let saved = tempfile::tempdir()?;
    side.settings(scale).run(|cluster| {
        for index in 0..2 * scale.jobs() {
            let options = scale.options(index);
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            cluster.sbatch("true", &options)?;
        }
        cluster.main_cycle()?;
        cluster.save_state(saved.path())
    })?;
    Ok(saved)
}

/// [`measure`], once more if backfill came first: a busy machine lets that happen.
fn measure_in_order(side: Side, scale: Scale, saved: &Path) -> Result<Sample> {
    for _ in 0..TRIES {
        if let Some(sample) = measure(side, scale, saved)? {
            say(format!("{side:?}: {sample:?}"));
            return Ok(sample);
        }
        say("backfill came before the main scheduler");
    }
    bail!("backfill came before the main scheduler {TRIES} times")
}

/// Lets a fresh slurmctld schedule what was prepared; `None` if backfill had a part in starting the first wave.
fn measure(side: Side, scale: Scale, saved: &Path) -> Result<Option<Sample>> {
    side.settings(scale).state_of(saved).run(|cluster| {
        let create = Rpc::try_from("CreatePartition".to_owned()).map_err(Error::msg)?;
        cluster.mock().inject(Fault::new(Effect::Hang { rpc: Some(create) }))?;
        cluster.main_cycle()?;
        let idle = cluster.backfill_cycle(LIMIT)?;
        let slurmctld = cluster.slurmctld()?;
        let before = slurmctld.processor_time()?;
        cluster.scontrol(&["update", "PartitionName=main", "State=UP"])?;
        let busy = wait_for("backfill to go over the second wave", LIMIT, || {
            let now = cluster.sdiag()?;
            Ok((!now.backfilling && now.backfill_depth >= scale.jobs().into()).then_some(now))
        })?;
        let processor = slurmctld.processor_time()?.saturating_sub(before);
        if busy.backfilled != idle.backfilled {
            return Ok(None);
        }
        let started = cluster.command("squeue").args(&["-h", "-t", "CF,R", "-p", "main", "-o", "%i"]);
        let started = started.success()?.stdout.lines().count();
        ensure!(started == scale.jobs() as usize, "{started} jobs were started, not {}", scale.jobs());
        Ok(Some(Sample { processor, main: busy.main.longest, backfill: busy.backfill.last }))
    })
}
