//! When a job is expected to start, and whether it then may.

use crate::script::{jobs, pod_with, wish};
use ledger::{Placement, Seconds};
use proptest::prelude::*;

const HOUR: i64 = 3600;

#[test]
fn who_may_be_put_in_the_way_of_another_is_expected_behind_that_one() {
    // Jobs 1 and 2 make way for job 10 in an hour. Of the free quarters one is in the half that it will have.
    let there = [(1, 16, 0), (2, 16, 32)];
    let line = jobs(0, &[(1, HOUR), (2, 9 * HOUR)]);
    let mut scripted = pod_with(Placement::Controller, &there);
    scripted.ledger.may_start(&wish(10, 32, HOUR), &line).unwrap_err();
    let long = wish(11, 16, 5 * HOUR);
    scripted.ledger.may_start(&long, &line).unwrap_err();
    // Backfill asks again for later moments.
    for from in [0, 1, HOUR] {
        assert_eq!(scripted.ledger.forecast(&long, Seconds(from), &line), Some(Seconds(HOUR + 1)));
    }
    // Job 12 is through by then, so it is in nobody's way; if job 11 were expected now, it would be.
    assert!(scripted.ledger.may_start(&wish(12, 16, HOUR), &line).is_ok());
    assert!(scripted.ledger.may_start(&wish(12, 16, 2 * HOUR), &line).is_err());
}

proptest! {
    /// A job is expected now exactly when it may start now.
    #[test]
    fn now_is_expected_who_may_start_now(
        explicit in any::<bool>(),
        quarters in prop::collection::vec((0..3_u32, 0..5_u32, 1..6_i64), 16),
        line in prop::collection::vec((0..7_u32, 1..6_i64, 0..4_i64), 0..6),
        (order, duration) in (0..7_u32, 1..8_i64),
    ) {
        // In each group of four IPUs a job has four, two or one.
        let running: Vec<_> = (1..).zip(quarters).filter(|(_, (order, _, _))| *order < 3).collect();
        let running: Vec<_> = running.into_iter().filter(|(_, (_, some, _))| *some > 1).collect();
        let jobs: Vec<_> = running.iter().map(|(job, (order, _, _))| (*job, 1 << order, 4 * (job - 1))).collect();
        let ends: Vec<_> = running.iter().map(|(job, (_, _, hours))| (*job, hours * HOUR)).collect();
        let slurm = crate::script::jobs(0, &ends);
        let placement = if explicit { Placement::Explicit } else { Placement::Controller };
        let mut scripted = pod_with(placement, &jobs);
        for (job, (order, hours, later)) in (100..).zip(line) {
            let waiting = wish(job, 1 << order, hours * HOUR);
            // Some are looked at by the main scheduler, some by backfill.
            if later == 0 {
                drop(scripted.ledger.may_start(&waiting, &slurm));
            } else {
                scripted.ledger.plan(&waiting, Seconds((later - 1) * HOUR), &slurm);
                scripted.ledger.forecast(&waiting, Seconds(0), &slurm);
            }
        }
        let last = wish(200, 1 << order, duration * HOUR);
        let verdict = scripted.ledger.why_not_now(&last, &slurm);
        let start = scripted.ledger.forecast(&last, Seconds(0), &slurm);
        prop_assert_eq!(start == Some(Seconds(0)), verdict.is_ok(), "{:?}, expected at {:?}", verdict, start);
    }
}
