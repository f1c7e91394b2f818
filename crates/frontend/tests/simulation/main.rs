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
mod events_in_words;
#[path = "../common/fake_test.rs"]
mod fake_test;
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

use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use cluster::Counts;
use schedule::Schedule;

/// The number of seeds that are played, unless `SIMULATION_SEEDS` has another one.
const SEEDS: u64 = 40;

/// Seeds that have found a fault. They are always played.
const FOUND: [u64; 4] = [249, 255, 35_074, 374_772];

/// The least number of events that the ledgers of a seed must have been told on average.
const EVENTS: u64 = 7_500;

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

/// The seeds to play. `SIMULATION_SEEDS` has the first one and their number, as in `400 40`.
fn seeds() -> Vec<u64> {
    let (first, count) = match std::env::var("SIMULATION_SEEDS") {
        Ok(said) => {
            let numbers = said
                .split_once(' ')
                .and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)));
            numbers.expect("SIMULATION_SEEDS has two numbers")
        }
        Err(_) => (0, SEEDS),
    };
    let moving = first..first + count;
    FOUND.into_iter().filter(|seed| !moving.contains(seed)).chain(moving.clone()).collect()
}

#[test]
fn nothing_leaks_whatever_dies() {
    if let Ok(seed) = std::env::var("SIMULATION_SEED") {
        let story = std::env::temp_dir().join(format!("simulation-{seed}.log"));
        println!("what happens is left in {}", story.display());
        let outcome = play(seed.parse().expect("SIMULATION_SEED is a number"), Some(&story));
        return println!("{} events", outcome.counts.events);
    }
    let (seeds, began) = (seeds(), Instant::now());
    let count = u64::try_from(seeds.len()).unwrap();
    let next = Mutex::new(seeds.iter());
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some(seed) = { next.lock().unwrap().next() } {
            let outcome = play(*seed, None);
            outcomes.lock().unwrap().push(outcome);
        }
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let outcomes = outcomes.into_inner().unwrap();
    let sum = |of: fn(&Counts) -> u64| outcomes.iter().map(|outcome| of(&outcome.counts)).sum::<u64>();
    println!(
        "{count} seeds: {} events, {} launched, {} of them at once, {} reused, {} kept, {} not made, {} s of virtual time, last trace after {:?}; {:.1} s",
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
    assert!(sum(|counts| counts.events) >= EVENTS * count, "too few events to say anything");
    assert!(sum(|counts| counts.reused) >= 10 * count, "too few partitions were reused");
    assert!(sum(|counts| counts.kept) >= count, "too few partitions stayed after their jobs");
}

#[test]
fn a_seed_is_the_same_each_time() {
    let digest = |seed| play(seed, None).digest;
    assert_eq!(digest(3), digest(3));
}
