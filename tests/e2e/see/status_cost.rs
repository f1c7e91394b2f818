//! The time for which the status document keeps the ledger locked. Slurm may wait meanwhile.
//!
//! Jobs wait for the IPUs of a full Pod of 1,024, which has 257 partitions. Each document copies all of them.
//! The test reads the times from the document.
//!
//! `BENCH_WAITING` in the environment gives the number of jobs (docs/bench.md).

use std::{env, time::Duration};

use anyhow::{Context as _, Result, ensure};
use testbed::{Cluster, Settings, wait_for};
use vipu_status::{Histogram, Status};

/// The jobs or partitions in one portion.
const PORTION: u64 = 64;

/// The documents with all jobs that are waited for.
const DOCUMENTS: u64 = 20;

/// The jobs of two IPUs that have the half of the Pod that the first job leaves.
const SMALL: u64 = 256;

const LIMIT: Duration = Duration::from_secs(900);

#[test]
fn cli_status_bench_smoke() -> Result<()> {
    let jobs = env::var("BENCH_WAITING").map_or(Ok(300), |text| text.parse().context("BENCH_WAITING"))?;
    settings().run(|cluster| {
        let job = "sbatch --parsable --output=/dev/null --time=60 --wrap=true --gres=vipu:pod64:";
        // Several at a time, because most of a submit is the start of a process.
        let many = format!("seq {jobs} | xargs -P 8 -I{{}} {job}2");
        let submit = format!("set -e; {job}512; {job}2 --array=1-{SMALL}; {many}");
        let submit = cluster.command("bash").args(&["-c", &submit]).start()?;
        submit.success(LIMIT)?;
        let before = document(cluster, 0, jobs)?;
        let mut last = before.clone();
        for _ in 0..DOCUMENTS {
            last = document(cluster, last.written, jobs)?;
        }
        let held = between(&before.counters.ledger_held, &last.counters.ledger_held);
        let (median, p99) = (held.quantile(0.5), held.quantile(0.99));
        println!(
            "{jobs} waiting jobs, {} portions: median up to {median} s, p99 up to {p99} s, longest up to {} s",
            held.count,
            held.quantile(1.0)
        );
        // Machines are noisy, so no time fails the test. It fails if each part of a document is copied at once.
        let least = DOCUMENTS * (jobs + SMALL) / PORTION;
        ensure!(held.count >= least, "{} portions, not {least}", held.count);
        Ok(())
    })
}

fn settings() -> Settings {
    let lines = "NodeName=n[1-64] CPUs=256 State=CLOUD Gres=vipu:pod64:no_consume:512\n\
                 PartitionName=main Nodes=n[1-64] Default=YES\n";
    let schedulers = "SchedulerParameters=defer,default_queue_depth=1000000,max_sched_time=50,bf_interval=5,\
                      bf_max_job_test=1000000,bf_max_time=600,bf_continue";
    Cluster::settings()
        .cloud(lines)
        .slurm_conf(schedulers)
        .slurm_conf("MaxJobCount=100000")
        .slurm_conf("SlurmctldDebug=info")
        .mock(&["--ipus", "1024"])
        .vipu_conf("MaxIpusPerJob=512")
}

/// A document with all waiting jobs that was written after this time.
fn document(cluster: &Cluster, after: i64, jobs: u64) -> Result<Status> {
    wait_for("a document with all jobs", LIMIT, || {
        let is_it = |status: &Status| status.written > after && status.line.len() as u64 >= jobs;
        Ok(super::document(cluster)?.filter(is_it))
    })
}

/// The values of `late` that `early` lacks.
fn between(early: &Histogram, late: &Histogram) -> Histogram {
    let mut between = late.clone();
    between.count -= early.count;
    for (bucket, early) in between.buckets.iter_mut().zip(&early.buckets) {
        bucket.count -= early.count;
    }
    between
}
