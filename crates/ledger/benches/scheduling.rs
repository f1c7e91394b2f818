//! `cargo bench -p ledger --bench scheduling`: what each question of a scheduler costs, by size of the Pod.
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on has failed")]

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use scene::case::{Case, Question};

mod scene;

fn questions(criterion: &mut Criterion) {
    for case in Case::ALL {
        let mut group = criterion.benchmark_group(case.name());
        for ipus in scene::PODS.into_iter().filter(|ipus| case.is_possible(*ipus)) {
            group.bench_with_input(BenchmarkId::from_parameter(ipus), &ipus, |bencher, &ipus| {
                let mut question = Question::new(case, ipus);
                bencher.iter_custom(|times| (0..times).map(|_| timed(&mut question)).sum());
            });
        }
    }
}

/// How long one answer takes, without what is made ready for it.
fn timed(question: &mut Question) -> Duration {
    question.prepare();
    let asked = Instant::now();
    question.ask();
    asked.elapsed()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = questions
}
criterion_main!(benches);
