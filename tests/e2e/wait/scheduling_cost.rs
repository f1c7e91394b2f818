//! The processor time of slurmctld for scheduling under `select/vipu`, as a ratio to that under the stock selector.
//!
//! The test submits two equal waves of jobs to nodes without slurmd. Half of the jobs ask for IPUs. One cycle of the main
//! scheduler starts the first wave, which fills all nodes and the Pod. Backfill then looks for the start of each job of
//! the second wave. Both selectors decide about equal jobs. The mock answers no create, because threads of their own
//! create partitions.
//!
//! `BENCH_NODES` and `BENCH_PAIRS` in the environment give the size (docs/bench.md).

use std::{env, time::Duration};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, Settings, say, wait_for};
use vipu_client::Call;

/// The target for slurmctld's processor time under our selector, as a ratio to that under the stock one.
const TARGET: f64 = 1.05;

/// The interval of backfill. The main scheduler has to begin in between.
const BACKFILL_INTERVAL: Duration = Duration::from_secs(3);

/// The number of tries in which the main scheduler may begin in between.
const TRIES: usize = 3;

/// The longest cycle of a scheduler.
const LIMIT: Duration = Duration::from_secs(600);

/// CPUs of a node, and of a job: two jobs fill a node.
const NODE_CPUS: u32 = 16;
const JOB_CPUS: u32 = NODE_CPUS / 2;

/// Time limits of the jobs. Their number is odd, so that IPU jobs get each of them.
const HOURS: [u32; 5] = [1, 2, 4, 8, 24];

/// IPUs of an IPU-Link domain.
const LINK_DOMAIN: u32 = 64;

#[test]
fn sched_bench_smoke() -> Result<()> {
    let (nodes, pairs) = (given("BENCH_NODES", 50)?, given("BENCH_PAIRS", 2)?);
    let (mut stock, mut ours) = (Duration::ZERO, Duration::ZERO);
    for pair in 0..pairs {
        // The sides take turns to go first, so that slow changes of the machine affect both alike.
        for is_ours in [pair % 2 == 1, pair % 2 == 0] {
            let took = measure(is_ours, nodes)?;
            say(format!("{} selector, {nodes} nodes: {took:?}", if is_ours { "our" } else { "stock" }));
            *(if is_ours { &mut ours } else { &mut stock }) += took;
        }
    }
    let ratio = ours.div_duration_f64(stock);
    println!("processor time of slurmctld: {ours:?} to {stock:?} of stock Slurm, a ratio of {ratio:.3}");
    // The target is for 1,000 nodes on a quiet machine. A busy machine must not fail the test.
    ensure!(ratio <= 10.0 * TARGET, "slurmctld took {ratio:.1} times as long as under the stock selector");
    Ok(())
}

fn given(variable: &str, usual: u32) -> Result<u32> {
    let text = env::var(variable);
    text.map_or(Ok(usual), |text| text.parse().with_context(|| format!("{variable}={text} is no number")))
}

/// The jobs of one wave, which fill all nodes.
fn jobs(nodes: u32) -> u32 {
    nodes * (NODE_CPUS / JOB_CPUS)
}

/// The Pod's IPUs: the number that the IPU jobs of the first wave need, in whole domains.
fn ipus(nodes: u32) -> u32 {
    (jobs(nodes) / 2).next_multiple_of(LINK_DOMAIN)
}

/// The options of a job. Every second job asks for IPUs. Some IPU jobs of the first wave ask for two, so that the wave
/// fills the Pod.
fn options(index: u32, nodes: u32) -> Vec<String> {
    let hours = HOURS[index as usize % HOURS.len()];
    let mut options = vec![format!("--ntasks={JOB_CPUS}"), format!("--time={hours}:00:00")];
    if index % 2 == 1 {
        let ipus = 1 + u32::from(index / 2 < ipus(nodes) - jobs(nodes) / 2);
        options.push(format!("--gres=vipu:pod64:{ipus}"));
    }
    options
}

fn settings(is_ours: bool, nodes: u32) -> Settings {
    let names = format!("n[0001-{nodes:04}]");
    let lines = format!(
        "NodeName={names} CPUs={NODE_CPUS} State=CLOUD Gres=vipu:pod64:no_consume:64\n\
         PartitionName=main Nodes={names} Default=YES State=DOWN\n"
    );
    let schedulers = format!(
        "SchedulerParameters=defer,batch_sched_delay=0,default_queue_depth=1000000,max_sched_time=50,\
         sched_interval=3600,bf_interval={},bf_max_job_test=1000000,bf_max_time=3600,bf_continue,\
         bf_yield_interval=10000000",
        BACKFILL_INTERVAL.as_secs()
    );
    let settings = Cluster::settings()
        .cloud(&lines)
        .slurm_conf(&schedulers)
        .slurm_conf("PriorityType=priority/basic")
        .slurm_conf("MaxJobCount=100000")
        .slurm_conf("SlurmctldDebug=info")
        .mock(&["--ipus", &ipus(nodes).to_string()])
        .vipu_conf("ApiTimeout=3600");
    if is_ours { settings } else { settings.without_plugin() }
}

/// Returns the processor time of slurmctld in both cycles. On a busy machine backfill sometimes comes first, so there
/// are several tries.
fn measure(is_ours: bool, nodes: u32) -> Result<Duration> {
    let tries = (0..TRIES).map(|_| settings(is_ours, nodes).run(|cluster| schedule(cluster, nodes)));
    let measured = tries.filter_map(Result::transpose).next();
    measured.with_context(|| format!("backfill came before the main scheduler {TRIES} times"))?
}

/// Submits both waves to a Slurm partition that is down, and lets slurmctld schedule them. Returns `None` if backfill
/// started jobs of the first wave.
fn schedule(cluster: &Cluster, nodes: u32) -> Result<Option<Duration>> {
    cluster.mock().inject(Fault::new(Effect::Hang { rpc: Some(Rpc(Call::CreatePartition)) }))?;
    for index in 0..2 * jobs(nodes) {
        let options = options(index, nodes);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        cluster.sbatch("true", &options)?;
    }
    cluster.main_cycle()?;
    let idle = cluster.backfill_cycle(LIMIT)?;
    let slurmctld = cluster.slurmctld()?;
    let before = slurmctld.processor_time()?;
    cluster.scontrol(&["update", "PartitionName=main", "State=UP"])?;
    let busy = wait_for("backfill to go over the second wave", LIMIT, || {
        let now = cluster.sdiag()?;
        Ok((!now.backfilling && now.backfill_depth >= jobs(nodes).into()).then_some(now))
    })?;
    let processor = slurmctld.processor_time()?.saturating_sub(before);
    if busy.backfilled != idle.backfilled {
        say("backfill came before the main scheduler");
        return Ok(None);
    }
    let started = cluster.command("squeue").args(&["-h", "-t", "CF,R", "-p", "main", "-o", "%i"]);
    let started = started.success()?.stdout.lines().count();
    ensure!(started == jobs(nodes) as usize, "{started} jobs were started, not {}", jobs(nodes));
    Ok(Some(processor))
}
