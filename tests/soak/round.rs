//! One round: a cluster, its load and its faults, and the count at its end.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use mock_vipu::Incident;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use testbed::{Cluster, wait_until};

use crate::{
    count::{Count, What},
    load::{self, Load},
    side::Side,
    strikes,
};

/// The longest time until no job runs any more.
const SETTLE_LIMIT: Duration = Duration::from_secs(300);

/// The longest time in which nothing changes. It is longer than RemoveWait, for which a job stays COMPLETING if its
/// slurmd was away when it ended.
const STILL: Duration = Duration::from_secs(80);

/// Runs one round with this time of faults.
pub fn run(side: Side, time: Duration, random: &mut StdRng) -> Result<Count> {
    let (settings, _folder) = side.settings()?;
    let cluster = settings.start()?;
    let mut count = Count::default();
    if let Err(error) = soak(&cluster, side, time, random, &mut count) {
        cluster.abandon(&error);
        return Err(error);
    }
    // The last check of stock Slurm would only repeat what is counted.
    if side == Side::Stock {
        cluster.finish_unchecked();
        return Ok(count);
    }
    let checked = cluster.check().and_then(|()| {
        ensure!(count.is_clean(), "{}", count.line());
        Ok(())
    });
    match checked {
        Ok(()) => cluster.finish()?,
        Err(error) => {
            count.more(What::Broken, 1);
            cluster.abandon(&error);
        }
    }
    Ok(count)
}

fn soak(cluster: &Cluster, side: Side, time: Duration, random: &mut StdRng, count: &mut Count) -> Result<()> {
    // 26.05 does not start again after a kill before its first end in order.
    cluster.stop_slurmctld()?;
    cluster.start_slurmctld()?;
    let over = AtomicBool::new(false);
    let mut of_load = StdRng::seed_from_u64(random.random_range(0..1_000_000));
    let (struck, load) = thread::scope(|scope| {
        let load = scope.spawn(|| Load::default().run(cluster, side, &mut of_load, &over));
        let struck = strikes::run(cluster, side, time, random, count);
        over.store(true, Ordering::Relaxed);
        (struck, load.join())
    });
    struck?;
    settle(cluster);
    count.take(cluster, &load.map_err(|_| anyhow!("the load panicked"))?)?;
    if side == Side::Pool { end_pool(cluster) } else { Ok(()) }
}

/// Ends the pool, whose partitions an administrator has to remove.
fn end_pool(cluster: &Cluster) -> Result<()> {
    cluster.write_vipu_conf(&[])?;
    cluster.reconfigure()?;
    for partition in cluster.mock().partitions()? {
        cluster.mock().cause(Incident::Vanish { partition })?;
    }
    Ok(())
}

/// Waits until all jobs are over, or nothing changes any more.
fn settle(cluster: &Cluster) {
    let mut last = (Vec::new(), Instant::now());
    let is_settled = || {
        // A job may begin at that moment.
        let _ = load::go_on(cluster);
        let mut left = cluster.jobs()?;
        left.retain(|job| !job.is_over());
        if left != last.0 {
            last = (left, Instant::now());
        }
        Ok(last.0.is_empty() || last.1.elapsed() > STILL)
    };
    // What goes on after this time is counted.
    let _ = wait_until("the jobs to settle", SETTLE_LIMIT, is_settled);
}
