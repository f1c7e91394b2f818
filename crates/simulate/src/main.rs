//! The program of `cargo xtask simulate`: how long jobs wait under several policies of scheduling.

use std::panic::resume_unwind;
use std::thread;

use clap::Parser;
use ledger::{KeepIdleFor, Placement, ReuseReset};
use simulate::ledger_scheduler::Costs;
use simulate::policy::Policy;
use simulate::report;
use simulate::reuse::{self, Case, Difference, Scene, Trace};
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
    /// Compare the waits of each job with and without partitions that stay (KeepIdle), on these jobs and on up
    /// to 30 days of jobs in batches.
    #[arg(long)]
    reuse: bool,
    /// With --reuse: seconds of a create.
    #[arg(long, default_value_t = 20)]
    create: i64,
    /// With --reuse: seconds of a removal.
    #[arg(long, default_value_t = 5)]
    removal: i64,
    /// With --reuse: seconds of a reset.
    #[arg(long, default_value_t = 5)]
    reset: i64,
    /// With --reuse: KeepIdle in seconds.
    #[arg(long, default_value_t = 600)]
    keep: u64,
    /// With --reuse: Placement=explicit.
    #[arg(long)]
    explicit: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let Arguments { ipus, days, load, seed, .. } = arguments;
    let workload = Workload { ipus, days, load, seed };
    if arguments.reuse { compare_reuse(&arguments, workload) } else { compare_policies(&workload) }
}

fn compare_policies(workload: &Workload) {
    let Workload { ipus, days, load, seed } = *workload;
    println!("{} jobs in {days} days on {ipus} IPUs, load {load}, seed {seed}\n", workload.jobs().len());
    println!("{}", report::head(workload));
    let play = |policy: Policy| move || policy.play(workload);
    in_parallel(Policy::ALL.map(play), |n, outcome| {
        println!("{}", report::row(&Policy::ALL[n].to_string(), &outcome, workload));
    });
}

fn compare_reuse(arguments: &Arguments, workload: Workload) {
    let Arguments { create, removal, reset, keep, .. } = *arguments;
    let costs = Costs { create, removal, reset };
    let placement = if arguments.explicit { Placement::Explicit } else { Placement::Controller };
    let keep = |keep_for, reset| Case::Keep(keep, keep_for, reset);
    let cases = [
        Case::ShorterCreates,
        keep(KeepIdleFor::WaitingJobs, ReuseReset::Always),
        keep(KeepIdleFor::WaitingJobs, ReuseReset::OtherUsers),
        keep(KeepIdleFor::AnyJob, ReuseReset::Always),
        keep(KeepIdleFor::AnyJob, ReuseReset::OtherUsers),
    ];
    for trace in [Trace::Year, Trace::Batches] {
        let days = if trace == Trace::Batches { workload.days.min(30) } else { workload.days };
        let workload = Workload { days, ..workload };
        let scene = Scene { trace, workload, placement, costs };
        let jobs = scene.jobs().len();
        println!("\n{trace:?}: {jobs} jobs, {workload:?}, {costs:?}, {placement:?}\n\n{}", reuse::head());
        let plays = [None].into_iter().chain(cases.map(Some)).map(|case| move || scene.play(case));
        let (mut without, mut means) = (None, String::new());
        in_parallel(plays, |n, played| {
            let Some(without) = &without else {
                without = Some(played);
                return;
            };
            let difference = Difference::new(without, &played);
            println!("{}", reuse::row(cases[n - 1], &difference, jobs));
            means += &format!("\n{}", reuse::means_row(cases[n - 1], &difference));
        });
        println!("{means}");
    }
}

/// Plays all, each on a thread of its own, and takes the results in order.
fn in_parallel<T: Send>(
    plays: impl IntoIterator<Item = impl FnOnce() -> T + Send>,
    mut take: impl FnMut(usize, T),
) {
    thread::scope(|scope| {
        let played: Vec<_> = plays.into_iter().map(|play| scope.spawn(play)).collect();
        for (n, outcome) in played.into_iter().enumerate() {
            take(n, outcome.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
}
