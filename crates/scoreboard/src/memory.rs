//! The memory of slurmctld for jobs with IPUs: the slope, without the fixed cost of threads and of creates under way.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, Settings, wait_for};
use vipu_client::Call;

use crate::{
    Extent, Row, Target,
    row::Scale,
    sides::{Side, alternate, pairs, settings},
};

const LIMIT: Duration = Duration::from_secs(120);

const IPUS: u32 = 64;

/// The jobs that are there before the measured ones. They get all IPUs.
const FIRST: u32 = 100;

/// The time in which each thread of slurmctld has had its turn: the status document is written each second.
const QUIET: Duration = Duration::from_secs(3);

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let jobs = extent.of(1000, 20);
    let measured = alternate(extent.pairs(4), |side| {
        let grown = quiet(side).run(|cluster| grown(cluster, jobs))?;
        Ok(grown * 1000.0 / f64::from(jobs) / f64::from(1 << 20))
    })?;
    let pairs = pairs(&measured, |mebibytes| *mebibytes);
    let (name, what) = ("memory", "growth of slurmctld for 1,000 waiting jobs of one IPU");
    Ok(vec![Row { name, what, unit: "MiB", scale: Scale::Difference, target: Target::AtMost(0.5), pairs }])
}

/// Nodes without slurmd that have room for as many jobs as the Pod has.
fn quiet(side: Side) -> Settings {
    let nodes = format!(
        "NodeName=n1 CPUs={IPUS} State=CLOUD Gres=vipu:pod64:no_consume:64\nPartitionName=main Nodes=n1 Default=YES\n"
    );
    settings(side)
        .cloud(&nodes)
        .slurm_conf("SchedulerParameters=batch_sched_delay=0,bf_interval=1,bf_continue")
}

/// The bytes by which slurmctld grows for `jobs` more jobs.
fn grown(cluster: &Cluster, jobs: u32) -> Result<f64> {
    cluster.mock().inject(Fault::new(Effect::Hang { rpc: Some(Rpc(Call::CreatePartition)) }))?;
    // The first jobs make slurmctld load and start all that it needs, among it the creates.
    let before = with_more(cluster, FIRST)?;
    let grown = with_more(cluster, jobs)?.saturating_sub(before);
    let started = cluster.command("squeue").args(&["-h", "-t", "CF,R", "-p", "main"]).success()?.stdout;
    ensure!(started.lines().count() == usize::try_from(IPUS)?, "not as many jobs started as there are IPUs");
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    Ok(grown as f64)
}

/// Submits more jobs. Returns the memory of slurmctld once both schedulers have looked at all jobs, and all documents
/// about them are written.
fn with_more(cluster: &Cluster, jobs: u32) -> Result<u64> {
    let one = "sbatch --parsable --ntasks=1 --time=60 --gres=vipu:pod64:1 --wrap=true > /dev/null";
    let loop_ = format!("set -e; for ((i = 0; i < {jobs}; i++)); do {one}; done");
    cluster.command("bash").args(&["-c", &loop_]).start()?.success(LIMIT)?;
    cluster.main_cycle()?;
    cluster.backfill_cycle(LIMIT)?;
    let slurmctld = cluster.slurmctld()?;
    let (mut highest, mut since) = (0, Instant::now());
    wait_for("slurmctld to grow no more", LIMIT, || {
        let now = slurmctld.own_memory()?;
        if now > highest {
            (highest, since) = (now, Instant::now());
        }
        Ok((since.elapsed() >= QUIET).then_some(highest))
    })
}
