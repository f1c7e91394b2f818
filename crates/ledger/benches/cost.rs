//! `cargo bench -p ledger --bench cost`: median and 99th percentile of what each question of a scheduler
//! costs, as docs/scheduling.md shows them. With `--gate`, a test of each: none may cost ten times what it
//! should.
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on has failed")]

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use scene::case::{Case, Question};

mod scene;

/// The Pod that the targets are for.
const GATED: u32 = 1024;

/// How much more than its target a question may cost: other programs run beside a test.
const FACTOR: u32 = 10;

/// How long one question is asked again and again.
const TIME: Duration = Duration::from_millis(500);

/// Median and 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    median: Duration,
    p99: Duration,
}

impl Cost {
    const fn micros(median: u64, p99: u64) -> Self {
        Self { median: Duration::from_micros(median), p99: Duration::from_micros(p99) }
    }

    /// Measures each answer by itself, so two readings of the clock, some 50 ns, count. Of a question that
    /// was interrupted, its processor time counts.
    fn of(case: Case, ipus: u32) -> Self {
        let mut question = Question::new(case, ipus);
        let (began, mut costs) = (Instant::now(), Vec::new());
        while costs.len() < 3 || began.elapsed() < TIME && costs.len() < 100_000 {
            question.prepare();
            let (of_thread, asked) = (processor_time(), Instant::now());
            question.ask();
            costs.push(asked.elapsed().min(processor_time().saturating_sub(of_thread)));
        }
        costs.sort_unstable();
        Self { median: costs[costs.len() / 2], p99: costs[costs.len() * 99 / 100] }
    }

    fn is_within(self, bound: Self) -> bool {
        self.median <= bound.median * FACTOR && self.p99 <= bound.p99 * FACTOR
    }
}

/// What a question should cost on 1,024 IPUs.
fn target(case: Case) -> Option<Cost> {
    match case {
        Case::Request | Case::Go | Case::GoBehindLine | Case::NoRoom | Case::Refusal => {
            Some(Cost::micros(1, 5))
        }
        Case::Forecast | Case::ForecastASecondLater | Case::ForecastAfterEvent => Some(Cost::micros(50, 250)),
        Case::GoASecondLater | Case::GoAnywhere | Case::InTheWay | Case::Victims => None,
    }
}

/// Questions whose cost must not grow with the claims, and how much more than with the fewest each may cost
/// with the most.
const FLAT: [Case; 4] = [Case::Go, Case::GoBehindLine, Case::NoRoom, Case::Refusal];
const GROWTH: f64 = 4.0;

/// Of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time goes by")
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--gate") {
        let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
        return gate(filter.map_or("", String::as_str));
    }
    println!("| µs, median / p99 | {} |", scene::PODS.map(|ipus| format!("{ipus} IPUs")).join(" | "));
    println!("|---|{}", "---:|".repeat(scene::PODS.len()));
    for case in Case::ALL {
        let costs = scene::PODS.map(|ipus| {
            if !case.is_possible(ipus) {
                return "–".to_owned();
            }
            let Cost { median, p99 } = Cost::of(case, ipus);
            format!("{} / {}", micros(median), micros(p99))
        });
        println!("| {} | {} |", case.name(), costs.join(" | "));
    }
    ExitCode::SUCCESS
}

/// Two digits that mean something.
fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let digits = if micros < 1.0 { 2 } else { usize::from(micros < 10.0) };
    format!("{micros:.digits$}")
}

/// Prints what a test harness would.
fn gate(filter: &str) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for (case, target) in Case::ALL.into_iter().filter_map(|case| Some((case, target(case)?))) {
        let test = format!("sched_cost_{}", case.name());
        if !test.contains(filter) {
            continue;
        }
        let cost = Cost::of(case, GATED);
        if cost.is_within(target) {
            println!("test {test} ... ok");
        } else {
            println!("{cost:?}, should be {target:?}, and is more than {FACTOR} times that");
            println!("test {test} ... FAILED");
            status = ExitCode::FAILURE;
        }
    }
    for case in FLAT {
        let test = format!("sched_cost_{}_does_not_grow", case.name());
        if !test.contains(filter) {
            continue;
        }
        let [fewest, .., most] = scene::PODS;
        let [few, many] = [fewest, most].map(|ipus| Cost::of(case, ipus).median);
        if many.as_secs_f64() <= GROWTH * few.as_secs_f64() {
            println!("test {test} ... ok");
        } else {
            println!("{many:?} with {most} IPUs, {few:?} with {fewest}: more than {GROWTH} times that");
            println!("test {test} ... FAILED");
            status = ExitCode::FAILURE;
        }
    }
    status
}
