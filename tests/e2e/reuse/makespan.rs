//! The share of starts in the time of many short jobs, with and without reuse.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use testbed::{Cluster, JobId, Settings, say, wait_until};

use super::keep_no_longer;
use crate::slow;

/// The jobs, their IPUs and their seconds. Four of them run at a time.
const JOBS: usize = 40;
const IPUS: u32 = 16;
const SECONDS: u32 = 4;

/// The time for which the jobs would run without any start.
const IDEAL: f64 = (JOBS / 4 * SECONDS as usize) as f64;

/// The time from the first submission to the last end in seconds, and the number of creates.
fn play(settings: Settings) -> Result<(f64, u64)> {
    settings.run(|cluster| {
        let began = std::time::Instant::now();
        let jobs: Vec<JobId> = (0..JOBS)
            .map(|_| cluster.sbatch(&format!("sleep {SECONDS}"), &[&format!("--gres=vipu:pod64:{IPUS}")]))
            .collect::<Result<_>>()?;
        wait_until("all jobs to end", Duration::from_secs(600), || {
            Ok(cluster.jobs()?.iter().filter(|job| jobs.contains(&job.id)).all(|job| job.is_over()))
        })?;
        let (took, creates) = (began.elapsed().as_secs_f64(), creates(cluster)?);
        keep_no_longer(cluster)?;
        Ok((took, creates))
    })
}

fn creates(cluster: &Cluster) -> Result<u64> {
    let rpcs = cluster.mock().report()?.rpcs;
    Ok(rpcs
        .iter()
        .filter(|(rpc, _)| rpc.0 == vipu_client::Call::CreatePartition)
        .map(|(_, count)| count)
        .sum())
}

#[test]
fn reuse_saves_most_creates() -> Result<()> {
    let site = || slow(2).cpus(64);
    let reusing = || site().vipu_conf("KeepIdle=60").vipu_conf("ReuseReset=other-users");
    let [without, with] = thread::scope(|scope| {
        let plays = [site(), reusing()].map(|settings| scope.spawn(|| play(settings)));
        plays.map(|play| play.join().unwrap_or_else(|_| bail!("a play panicked")))
    });
    let ((without, all), (with, some)) = (without?, with?);
    let share = |took: f64| (took - IDEAL) / took;
    say(format!(
        "{JOBS} jobs of {SECONDS} s: {without:.1} s and {all} creates without reuse, {with:.1} s and {some} creates with it; \
         share of starts {:.1} % and {:.1} %",
        100.0 * share(without),
        100.0 * share(with),
    ));
    ensure!(some * 100 <= all * 15, "{some} of {all} creates are left");
    Ok(())
}
