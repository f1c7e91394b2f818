//! Runs each target on its corpus, then on mutations of it for `FUZZ_SECONDS`, or two seconds by default.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::env;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use fuzz::Target;
use fuzz::mutation::Mutator;

/// The limit for one input, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(5);

fn check(target: &Target, input: &[u8]) {
    let began = Instant::now();
    let result = catch_unwind(|| (target.check)(input));
    assert!(result.is_ok(), "{}: {}", target.name, input.escape_ascii());
    let took = began.elapsed();
    assert!(took < LONGEST, "{} takes {took:?}: {}", target.name, input.escape_ascii());
}

fn run(name: &str) {
    let target = Target::named(name).unwrap();
    let corpus = target.inputs();
    corpus.iter().for_each(|input| check(target, input));
    let seconds = env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let (began, mut mutator, mut runs) = (Instant::now(), Mutator::new(1), 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        check(target, &mutator.next(&corpus));
        runs += 1;
    }
    println!("{name}: {runs} inputs in {seconds} s from {} of the corpus", corpus.len());
}

/// Defines tests that each run a target.
macro_rules! tests {
    ($($name:ident $target:literal)*) => {
        $(#[test] fn $name() { run($target); })*
    };
}

tests! {
    no_administrator_upsets_the_socket "admin"
    no_conf_upsets_its_reader "conf"
    no_request_upsets_its_reader "gres"
    no_journal_upsets_its_reader "journal"
    no_table_upsets_its_reader "table"
    no_reply_upsets_client_and_ledger "wire"
    no_configuration_upsets_the_file "ipuof"
    no_job_upsets_the_front_end "jobs"
}
