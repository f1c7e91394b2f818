//! The memory of slurmctld for jobs with IPUs.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, Settings};
use vipu_client::Call;

use crate::{
    Extent, Row, Target,
    row::Scale,
    sides::{Side, alternate, pairs, settings},
};

const LIMIT: Duration = Duration::from_secs(120);

const IPUS: u32 = 64;

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let jobs = extent.of(1000, 70);
    let measured = alternate(extent.of(4, 1), |side| {
        let grown = quiet(side).run(|cluster| grown(cluster, jobs))?;
        Ok(grown * 1000.0 / f64::from(jobs) / f64::from(1 << 20))
    })?;
    let pairs = pairs(&measured, |mebibytes| *mebibytes);
    let (name, what) = ("memory", "memory of slurmctld for 1,000 jobs of one IPU, of which 64 have theirs");
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

/// The bytes by which slurmctld has grown once both schedulers have looked at all jobs.
fn grown(cluster: &Cluster, jobs: u32) -> Result<f64> {
    cluster.mock().inject(Fault::new(Effect::Hang { rpc: Some(Rpc(Call::CreatePartition)) }))?;
    let submit = |number: u32| {
        let one = "sbatch --parsable --ntasks=1 --time=60 --gres=vipu:pod64:1 --wrap=true > /dev/null";
        let loop_ = format!("set -e; for ((i = 0; i < {number}; i++)); do {one}; done");
        cluster.command("bash").args(&["-c", &loop_]).start()?.success(LIMIT).map(drop)
    };
    // The first job makes slurmctld load and start all that it needs.
    submit(1)?;
    cluster.main_cycle()?;
    cluster.backfill_cycle(LIMIT)?;
    let slurmctld = cluster.slurmctld()?;
    let before = slurmctld.own_memory()?;
    submit(jobs)?;
    cluster.main_cycle()?;
    cluster.backfill_cycle(LIMIT)?;
    let grown = slurmctld.own_memory()?.saturating_sub(before);
    let started = cluster.command("squeue").args(&["-h", "-t", "CF,R", "-p", "main"]).success()?.stdout;
    ensure!(started.lines().count() == usize::try_from(IPUS)?, "not as many jobs started as there are IPUs");
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    Ok(grown as f64)
}
