//! The promises of recovery: front end, ledger and driver against the mock's controllers, with a simulated
//! Slurm, in one process and under virtual time.
//!
//! A *seed* is a schedule of jobs and faults ([`schedule`], [`faults`]). One [`cluster`] at a time plays it
//! ([`play`]): [`slurm`] has the jobs, and a [`slurmctld`] has the plugin. slurmctld is killed and started
//! again, and the [`controller`]s and the [`disk`] fail. The parts check their rules as they go, and so does
//! [`check`]. When all faults stop, nothing may be left ([`end`]).
//!
//! All randomness comes from the seed: a failure names the command that plays it again.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod check;
mod cluster;
mod controller;
mod disk;
mod end;
mod endless;
mod faults;
#[path = "../../../driver/tests/common/controller.rs"]
mod network;
mod play;
mod pool;
mod restarts;
mod schedule;
#[path = "../../../driver/tests/common/settings.rs"]
mod settings;
mod slurm;
mod slurmctld;
mod words;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use cluster::Counts;
use schedule::Schedule;

/// The number of seeds that are played.
const SEEDS: u64 = 120;

/// The least number of events that the ledgers of all seeds must have been told.
const EVENTS: u64 = 900_000;

/// Plays one seed. A failure says what went wrong, and how to see it again.
fn play(seed: u64, story: Option<&Path>) -> play::Outcome {
    let schedule = Schedule::of(seed);
    let kinds = schedule.kinds();
    play::play(schedule, story).unwrap_or_else(|why| {
        panic!(
            "{why}\n\nseed {seed}, faults {kinds:?}; again, with the whole story: SIMULATION_SEED={seed} \
             cargo test -p frontend --test simulation nothing_leaks -- --nocapture"
        )
    })
}

#[test]
fn nothing_leaks_whatever_dies() {
    if let Ok(seed) = std::env::var("SIMULATION_SEED") {
        let story = std::env::temp_dir().join(format!("simulation-{seed}.log"));
        println!("what happens is left in {}", story.display());
        let outcome = play(seed.parse().expect("SIMULATION_SEED is a number"), Some(&story));
        return println!("{} events", outcome.counts.events);
    }
    let (next, began) = (AtomicU64::new(0), Instant::now());
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SEEDS {
                return;
            }
            let outcome = play(seed, None);
            outcomes.lock().unwrap().push(outcome);
        }
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let outcomes = outcomes.into_inner().unwrap();
    let sum = |of: fn(&Counts) -> u64| outcomes.iter().map(|outcome| of(&outcome.counts)).sum::<u64>();
    println!(
        "{SEEDS} seeds: {} events, {} launched, {} of them at once, {} reused, {} kept, {} not made, {} s of virtual time, last trace after {:?}; {:.1} s",
        sum(|counts| counts.events),
        sum(|counts| counts.launched),
        sum(|counts| counts.at_once),
        sum(|counts| counts.reused),
        sum(|counts| counts.kept),
        sum(|counts| counts.failed),
        outcomes.iter().map(|outcome| outcome.virtual_time.as_secs()).sum::<u64>(),
        outcomes.iter().map(|outcome| outcome.last_trace).max().unwrap_or_default(),
        began.elapsed().as_secs_f64(),
    );
    assert!(sum(|counts| counts.events) >= EVENTS, "too few events to say anything");
    assert!(sum(|counts| counts.reused) >= 10 * SEEDS, "too few partitions were reused");
    assert!(sum(|counts| counts.kept) >= SEEDS, "too few partitions stayed after their jobs");
}

#[test]
fn a_seed_is_the_same_each_time() {
    let digest = |seed| play(seed, None).digest;
    assert_eq!(digest(3), digest(3));
}
