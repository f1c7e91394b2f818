//! The share of starts in the time of many short jobs, with and without reuse.

use std::time::{Duration, Instant};
use std::{env, fmt, thread};

use anyhow::{Context, Result, bail, ensure};
use testbed::{Account, Cluster, JobId, Settings, say, wait_until};

use super::keep_no_longer;
use crate::slow;

/// The IPUs and the seconds of each job. Four of them run at a time.
const IPUS: u32 = 16;
const SECONDS: u32 = 4;

/// The time that a create takes, in seconds.
const CREATE: u64 = 2;

/// The outcome of many jobs.
#[derive(Clone, Copy, Debug)]
struct Played {
    jobs: usize,
    /// The time from the first submission to the last end.
    seconds: f64,
    creates: u64,
}

impl Played {
    /// The share of the time beyond that for which the jobs would run without any start.
    fn share_of_starts(&self) -> f64 {
        let ideal = self.jobs.div_ceil(4) * SECONDS as usize;
        1.0 - ideal as f64 / self.seconds
    }
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, creates, .. } = self;
        write!(
            f,
            "{seconds:.1} s, {creates} creates, share of starts {:.1} %",
            100.0 * self.share_of_starts()
        )
    }
}

fn site() -> Settings {
    slow(CREATE).cpus(64)
}

fn reusing() -> Settings {
    site().vipu_conf("KeepIdle=60").vipu_conf("ReuseReset=other-users")
}

/// Submits this number of jobs, of these users in turns, and waits until all have ended.
fn play(settings: Settings, jobs: usize, users: &[&str]) -> Result<Played> {
    settings.run(|cluster| {
        let accounts = users.iter().map(|name| Account::named(name)).collect::<Result<Vec<_>>>()?;
        let began = Instant::now();
        let submit = |account| {
            let request = format!("--gres=vipu:pod64:{IPUS}");
            let command = cluster.sbatch_command(&format!("sleep {SECONDS}"), &[&request])?;
            cluster.submit(command.account(account))
        };
        let submitted: Vec<JobId> = accounts.iter().cycle().take(jobs).map(submit).collect::<Result<_>>()?;
        wait_until("all jobs to end", Duration::from_secs(600), || {
            Ok(cluster.jobs()?.iter().filter(|job| submitted.contains(&job.id)).all(|job| job.is_over()))
        })?;
        let played = Played { jobs, seconds: began.elapsed().as_secs_f64(), creates: creates(cluster)? };
        keep_no_longer(cluster)?;
        Ok(played)
    })
}

/// Plays the same jobs on several clusters at the same time.
fn side_by_side(sites: Vec<Settings>, jobs: usize, users: &[&str]) -> Result<Vec<Played>> {
    thread::scope(|scope| {
        let plays: Vec<_> =
            sites.into_iter().map(|site| scope.spawn(move || play(site, jobs, users))).collect();
        plays.into_iter().map(|play| play.join().unwrap_or_else(|_| bail!("a play panicked"))).collect()
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
    let played = side_by_side(vec![site(), reusing()], 40, &["root"])?;
    let [without, with] = played[..] else { bail!("{played:?}") };
    say(format!("40 jobs of {SECONDS} s: {without}; with reuse: {with}"));
    ensure!(with.creates * 100 <= without.creates * 15, "{with}");
    Ok(())
}

/// Between two users each partition is reset, which takes a part of the time of a create. `BENCH_JOBS` in the environment
/// gives the number of jobs (docs/reuse.md).
#[test]
fn reuse_of_two_users_saves_creates() -> Result<()> {
    let jobs = env::var("BENCH_JOBS").map_or(Ok(8), |text| text.parse().context("BENCH_JOBS"))?;
    let parts = [10, 50, 100];
    let resetting = |percent: u64| reusing().mock(&[&format!("--reset-latency={}ms", CREATE * 10 * percent)]);
    let sites = [site()].into_iter().chain(parts.into_iter().map(resetting)).collect();
    let played = side_by_side(sites, jobs, &["root", "daemon"])?;
    let (without, resetting) = played.split_first().context("nothing was played")?;
    say(format!("{jobs} jobs of {SECONDS} s of two users: {without}"));
    for (percent, with) in parts.into_iter().zip(resetting) {
        say(format!("with reuse, a reset of {percent} % of a create: {with}"));
        ensure!(with.creates < without.creates, "{percent} %: {with}");
    }
    Ok(())
}
