//! For jobs without IPUs, `select/vipu` behaves like the selector below it.

mod cluster;
mod ipus;
mod jobs;
mod outcome;

use std::{
    env, thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use slurm_release::Series;
use testbed::{Cluster, programs::slurm_version, say};

use crate::jobs::{logged, now};
use cluster::{PARTITIONS, Pace, Selector};
use ipus::{Nodes, Taken};
use jobs::Job;
use outcome::Outcome;

/// The seed and the number of jobs. `LAYERING_SEED` and `LAYERING_JOBS` override them.
const SEED: u64 = 20_261_120;
const JOBS: usize = 300;

/// The number of jobs when others wait for IPUs. It is smaller because each cycle takes longer.
const JOBS_AMONG_OTHERS: usize = 150;

/// The number of backfill cycles after the main scheduler. Backfill starts a heterogeneous job when it sees
/// it for the second time.
const ROUNDS: usize = 2;

/// The moments at which the test looks at the jobs.
const AFTER_MAIN: &str = "after the main scheduler";
const AT_THE_END: &str = "at the end";

/// slurmctld's line at a check of time limits, which is one of each 30 s. The first check after a start gives jobs that can
/// never start, and were held for that, another try (seen on 24.11.5).
const LIMITS_CHECKED: &str = "Testing job time limits";

/// Longer than a cycle of backfill.
const LIMIT: Duration = Duration::from_secs(300);

#[test]
fn sched_layering_changes_nothing() -> Result<()> {
    differ_in_nothing(None)
}

#[test]
fn sched_layering_changes_nothing_while_others_wait_for_ipus() -> Result<()> {
    // On shared nodes, jobs that wait for IPUs and for a licence differ under 22.05: see "Why jobs without
    // IPUs are not held up" in docs/scheduling.md.
    let apart = slurm_version()?.series() < Series::new(23, 2);
    differ_in_nothing(Some(if apart { Nodes::Apart } else { Nodes::Shared }))
}

/// Lets two clusters schedule the same jobs, and compares everything that Slurm shows of the jobs. With
/// `waiting`, other jobs that wait for IPUs are among them, on these nodes.
fn differ_in_nothing(waiting: Option<Nodes>) -> Result<()> {
    let seed = number("LAYERING_SEED")?.unwrap_or(SEED);
    let usual = if waiting.is_some() { JOBS_AMONG_OTHERS } else { JOBS };
    let count = number("LAYERING_JOBS")?.map_or(Ok(usual), usize::try_from)?;
    let (jobs, limits) = jobs::draw(seed, count, waiting);
    println!("LAYERING_SEED={seed} LAYERING_JOBS={count}: {} submits", jobs.len());
    for pace in [1, 4].map(|patience| Pace::of(count, patience)) {
        let begin = now()?.as_secs() + 60 * limits.between();
        let play = |selector| {
            let settings = cluster::settings(selector, pace, limits);
            settings.run(|cluster| {
                cluster::reserve(cluster, begin)?;
                let take = |_| Taken::take(cluster, selector, limits.between());
                let taken = waiting.map(take).transpose()?;
                cluster.scontrol(&["setdebug", "debug2"])?;
                let outcome = submit(cluster, &jobs, selector)?;
                logged(cluster, LIMITS_CHECKED)?;
                cluster.scontrol(&["setdebug", "debug"])?;
                let outcome = play(cluster, outcome, pace)?;
                taken.as_ref().map_or(Ok(()), Taken::is_waited_for)?;
                Ok(outcome)
            })
        };
        let [one, two] = thread::scope(|scope| {
            let players =
                [Selector::Stock, Selector::Layered].map(|selector| scope.spawn(move || play(selector)));
            players.map(|player| player.join().unwrap_or_else(|_| bail!("the play panicked")))
        });
        let (Some(one), Some(two)) = (one?, two?) else {
            say(format!("the machine is too busy for {pace:?}"));
            continue;
        };
        println!("{one}");
        return one.compare(&two).with_context(|| format!("with LAYERING_SEED={seed} LAYERING_JOBS={count}"));
    }
    bail!("the schedulers did not wait for each other")
}

/// Returns the number in an environment variable.
fn number(name: &str) -> Result<Option<u64>> {
    env::var(name).ok().map(|text| text.parse().with_context(|| format!("{name}={text}"))).transpose()
}

/// Lets the main scheduler and backfill take turns with jobs that were submitted while all Slurm partitions
/// were down. Returns `None` if one scheduler did not wait for the other.
fn play(cluster: &Cluster, mut outcome: Outcome, pace: Pace) -> Result<Option<Outcome>> {
    cluster.backfill_cycle(LIMIT)?;
    let (mut rests, origin) = (Instant::now(), now()?.as_secs());
    if !all_up_at_once(cluster, pace)? {
        return Ok(None);
    }
    for round in 0..=ROUNDS {
        if round > 0 {
            cluster.backfill_cycle(LIMIT)?;
            rests = Instant::now();
        }
        settle(cluster)?;
        if round == 0 {
            outcome.look(cluster, AFTER_MAIN, origin)?;
        }
        if round == ROUNDS {
            outcome.look(cluster, AT_THE_END, origin)?;
        }
        // The next cycle of backfill may begin before the look ends. One second is the margin to notice the end
        // of a cycle. A cycle takes less.
        if rests.elapsed() + Duration::from_secs(1) > pace.backfill {
            return Ok(None);
        }
    }
    Ok(Some(outcome))
}

/// Brings all Slurm partitions up between two cycles of the main scheduler, right after a cycle. Returns
/// whether no cycle ran meanwhile. Slurm counts a cycle at its end, so that one may have begun uncounted if this
/// took long.
fn all_up_at_once(cluster: &Cluster, pace: Pace) -> Result<bool> {
    cluster.main_cycle()?;
    let (rests, before) = (Instant::now(), cluster.sdiag()?.main_cycles);
    // All commands start at once: one after the other they may take longer on a busy machine.
    let up = PARTITIONS.map(|name| format!("scontrol update PartitionName={name} State=UP &")).join(" ");
    cluster.command("bash").args(&["-c", &format!("{up} wait")]).success()?;
    let is_quick = rests.elapsed() < pace.main / 2;
    Ok(cluster.sdiag()?.main_cycles == before && is_quick)
}

/// Submits the jobs, one after the other.
fn submit(cluster: &Cluster, jobs: &[Job], selector: Selector) -> Result<Outcome> {
    let (mut ids, mut outcome) = (Vec::new(), Outcome::default());
    for (index, job) in jobs.iter().enumerate() {
        let options = job.options(index, &ids, selector);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let output = cluster.sbatch_command("true", &options)?.output()?;
        let id = (output.code == 0).then(|| output.stdout.parse()).transpose()?;
        if id.is_none() {
            outcome.refuse(index, output.stderr);
        }
        ids.push(id);
    }
    Ok(outcome)
}

/// Runs the main scheduler until it starts nothing more, and gives no job another reason. After that it does
/// not matter how many more cycles run.
fn settle(cluster: &Cluster) -> Result<()> {
    let mut before = None;
    loop {
        let squeue = cluster.command("squeue").args(&["-h", "-r", "-t", "PD", "-o", "%i %r"]);
        let waiting = Some(squeue.success()?.stdout);
        if waiting == before {
            return Ok(());
        }
        before = waiting;
        cluster.main_cycle()?;
    }
}
