//! The processor time of slurmctld for scheduling under `select/vipu`, as a ratio to that under the stock selector.
//!
//! Two equal waves of jobs are submitted to nodes without slurmd. Half of the jobs ask for IPUs. One cycle of the main
//! scheduler starts the first wave, which fills all nodes and the Pod. Backfill then looks for the start of each job of
//! the second wave. Both selectors decide about equal jobs. The mock answers no create, because threads of their own
//! create partitions.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, Settings, say, wait_for};
use vipu_client::Call;

use crate::{
    Extent, Row, Target,
    sides::{Side, alternate, on_side},
};

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

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let nodes = extent.of(300, 50);
    let measured = alternate(extent.pairs(6), |side| processor_time(side, nodes))?;
    let row = ("scheduling", "processor time of slurmctld to schedule 1,200 jobs, half with IPUs", "ms");
    Ok(vec![Row::ratio(row, Target::AtMost(1.05), &measured, |time| 1e3 * time.as_secs_f64())])
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

fn settings(side: Side, nodes: u32) -> Settings {
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
    on_side(settings, side)
}

/// Returns the processor time of slurmctld in both cycles. On a busy machine backfill sometimes comes first, so there
/// are several tries.
fn processor_time(side: Side, nodes: u32) -> Result<Duration> {
    let tries = (0..TRIES).map(|_| settings(side, nodes).run(|cluster| schedule(cluster, nodes)));
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
