//! The time that the plugin needs for a look at a job (job_test), with IPUs in Slurm's accounting and without.
//!
//! Jobs wait for the IPUs of a full Pod, and both schedulers look at them again and again. The test reads the times
//! from the status document, and takes the run with the shortest mean of each side. `BENCH_WAITING` and `BENCH_PAIRS` in the environment give the size (docs/bench.md).

use std::{env, time::Duration};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, Settings, say, wait_for};
use vipu_status::Status;

use super::{OF_IPUS, add_root};
use crate::see;

/// The looks at each waiting job.
const LOOKS: u64 = 10;

const LIMIT: Duration = Duration::from_secs(600);

#[test]
fn acct_bench_smoke() -> Result<()> {
    let (waiting, pairs) = (given("BENCH_WAITING", 100)?, given("BENCH_PAIRS", 1)?);
    let (mut with, mut without) = (f64::MAX, f64::MAX);
    for pair in 0..pairs {
        // The sides take turns to go first, so that slow changes of the machine affect both alike.
        for counts in [pair % 2 == 0, pair % 2 == 1] {
            let took = measure(counts, waiting)?;
            say(format!("{} IPUs in accounting: {took:.0} ns", if counts { "with" } else { "without" }));
            let shortest = if counts { &mut with } else { &mut without };
            *shortest = shortest.min(took);
        }
    }
    let ratio = with / without;
    println!(
        "a look at a job: {with:.0} ns with IPUs in accounting, {without:.0} ns without, a ratio of {ratio:.2}"
    );
    // Machines are noisy, so no time fails the test.
    ensure!(with > 0.0 && without > 0.0, "no time was measured");
    Ok(())
}

fn given(variable: &str, usual: u64) -> Result<u64> {
    env::var(variable).map_or(Ok(usual), |text| text.parse().context(variable.to_owned()))
}

fn settings(counts: bool) -> Settings {
    let lines = "NodeName=n[1-64] CPUs=256 State=CLOUD Gres=vipu:pod64:no_consume:64\n\
                 PartitionName=main Nodes=n[1-64] Default=YES\n";
    let schedulers = "SchedulerParameters=defer,default_queue_depth=1000000,max_sched_time=50,bf_interval=1,\
                      bf_max_job_test=1000000,bf_max_time=600,bf_continue";
    let counted = if counts { OF_IPUS.join(",") } else { "cpu".into() };
    Cluster::settings()
        .accounting()
        .cloud(lines)
        .slurm_conf(schedulers)
        .slurm_conf(&format!("AccountingStorageTRES={counted}"))
        .slurm_conf("AccountingStorageEnforce=associations,limits,qos")
        .slurm_conf("SlurmctldDebug=info")
}

/// Returns the mean time of a look, in nanoseconds.
fn measure(counts: bool, waiting: u64) -> Result<f64> {
    settings(counts).run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = "sbatch --parsable --output=/dev/null --time=60 --wrap=true --gres=vipu:pod64:";
        // Several at a time, because most of a submit is the start of a process.
        let many = format!("seq {waiting} | xargs -P 8 -I{{}} {job}2");
        let submit = format!("set -e; {job}64; {many}");
        cluster.command("bash").args(&["-c", &submit]).start()?.success(LIMIT)?;
        let before = document(cluster, "all jobs wait", |status| status.line.len() as u64 >= waiting)?;
        let looks = |status: &Status| status.counters.job_tests.count - before.counters.job_tests.count;
        let mut after = before.clone();
        while looks(&after) < LOOKS * waiting {
            cluster.backfill_cycle(LIMIT)?;
            after = document(cluster, "the cycle is counted", |status| status.written > after.written)?;
        }
        let seconds = after.counters.job_tests.sum - before.counters.job_tests.sum;
        Ok(1e9 * seconds / looks(&after) as f64)
    })
}

/// The first document of which this is true.
fn document(cluster: &Cluster, what: &str, wanted: impl Fn(&Status) -> bool) -> Result<Status> {
    wait_for(&format!("a document in which {what}"), LIMIT, || {
        Ok(see::document(cluster)?.filter(|status| wanted(status)))
    })
}
