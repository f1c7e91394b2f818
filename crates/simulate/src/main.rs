//! The program of `cargo xtask simulate`: how long jobs wait under several policies of scheduling.

use std::panic::resume_unwind;
use std::thread;

use clap::Parser;
use simulate::policy::Policy;
use simulate::report;
use simulate::workload::Workload;

/// Play a synthetic year of jobs on one Pod under several policies, and print how long jobs waited.
#[derive(Parser)]
#[command(name = "cargo xtask simulate")]
struct Arguments {
    /// IPUs of the Pod: a power of two, up to 256.
    #[arg(long, default_value_t = 64)]
    ipus: u32,
    /// The number of days in which jobs are submitted.
    #[arg(long, default_value_t = 365)]
    days: u32,
    /// The part of the Pod that all jobs together need.
    #[arg(long, default_value_t = 0.87)]
    load: f64,
    /// The seed of the random jobs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    let Arguments { ipus, days, load, seed } = Arguments::parse();
    let workload = Workload { ipus, days, load, seed };
    println!("{} jobs in {days} days on {ipus} IPUs, load {load}, seed {seed}\n", workload.jobs().len());
    println!("{}", report::head(&workload));
    thread::scope(|scope| {
        let played = Policy::ALL.map(|policy| scope.spawn(move || policy.play(&workload)));
        for (policy, outcome) in Policy::ALL.into_iter().zip(played) {
            match outcome.join() {
                Ok(outcome) => println!("{}", report::row(&policy.to_string(), &outcome, &workload)),
                Err(panic) => resume_unwind(panic),
            }
        }
    });
}
