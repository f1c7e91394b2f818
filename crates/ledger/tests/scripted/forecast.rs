//! The expected start of a job, and whether the job may start then.

use std::time::Duration;

use crate::script::{Scripted, drain, jobs, pod_with, wish};
use ledger::{Drain, Event, Forecast, OtherNeeds, Place, Placement, PodInTime, Seconds};
use proptest::prelude::*;
use vipu_types::IpuCount;

const HOUR: i64 = 3600;

#[test]
fn a_job_that_could_delay_another_is_expected_after_it() {
    // Job 1 makes way for job 10 in an hour. One of the free quarters is in the half that job 10 will have.
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
    // Job 12 is over by then and delays no job. It would delay job 11 if that were expected now.
    assert!(scripted.ledger.may_start(&wish(12, 16, HOUR), &line).is_ok());
    assert!(scripted.ledger.may_start(&wish(12, 16, 2 * HOUR), &line).is_err());
}

/// The forecast from a copy of a ledger with these IPUs, each with first IPU, number and end.
fn copied(scripted: &Scripted, placement: Placement, taken: &[(u32, u32, i64)]) -> Forecast {
    let domain_size = IpuCount::new(64).unwrap();
    let taken = taken.iter().flat_map(|(first, ipus, end)| {
        let until = Seconds(*end).later_by(Duration::from_secs(1));
        (*first..first + ipus).map(move |index| (Place { domain: 0, index }, Some(until)))
    });
    let pod = PodInTime { controller: None, ipus: 64, layout: domain_size.into(), taken: taken.collect() };
    let line = scripted.ledger.line_behind(&wish(1, 1, 1).model, None, 100);
    Forecast::new(Seconds(0), placement, &[pod], OtherNeeds::default(), line)
}

proptest! {
    /// A job is expected now exactly when it may start now. A copy of the ledger expects all jobs when the
    /// ledger does.
    #[test]
    fn the_ledger_its_copy_and_the_permission_to_start_agree(
        explicit in any::<bool>(),
        quarters in prop::collection::vec((0..3_u32, 0..5_u32, 1..6_i64), 16),
        line in prop::collection::vec((0..7_u32, 1..6_i64, 0..4_i64), 0..6),
        (order, duration) in (0..7_u32, 1..8_i64),
        drained in prop::collection::btree_map(0..64_u32, 0..6_i64, 0..4),
    ) {
        // In each group of four IPUs, at most one job has one, two or four of them.
        let running: Vec<_> = (1..).zip(quarters).filter(|(_, (order, _, _))| *order < 3).collect();
        let running: Vec<_> = running.into_iter().filter(|(_, (_, some, _))| *some > 1).collect();
        let jobs: Vec<_> = running.iter().map(|(job, (order, _, _))| (*job, 1 << order, 4 * (job - 1))).collect();
        let ends: Vec<_> = running.iter().map(|(job, (_, _, hours))| (*job, hours * HOUR)).collect();
        let slurm = crate::script::jobs(0, &ends);
        let placement = if explicit { Placement::Explicit } else { Placement::Controller };
        let mut scripted = pod_with(placement, &jobs);
        // A drain of zero hours has no end.
        let end = |hours: i64| if hours == 0 { Seconds(i64::MAX - 1) } else { Seconds(hours * HOUR) };
        for (ipu, hours) in &drained {
            let Event::Drain(drain) = drain("pod64", Some(*ipu)) else { unreachable!() };
            scripted.tell(Event::Drain(Drain { until: (*hours > 0).then(|| end(*hours)), ..drain }));
        }
        for (job, (order, hours, later)) in (100..).zip(line) {
            let waiting = wish(job, 1 << order, hours * HOUR);
            // The main scheduler looks at some of the jobs, backfill at the others.
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
        let taken: Vec<_> = jobs.iter().zip(&ends).map(|((_, ipus, first), (_, end))| (*first, *ipus, *end)).collect();
        let drained = drained.iter().map(|(ipu, hours)| (*ipu, 1, end(*hours).0));
        let taken: Vec<_> = taken.into_iter().chain(drained).collect();
        let copy = copied(&scripted, placement, &taken);
        let in_copy = copy.start_of(&last, Seconds(0), None).map(|planned| planned.at);
        prop_assert_eq!(in_copy, start, "job 200 in the copy");
        for waiting in scripted.ledger.line_behind(&last.model, None, 100) {
            let in_copy = copy.start_of(&waiting.wish, waiting.not_before, waiting.behind);
            let start = scripted.ledger.forecast(&waiting.wish, waiting.not_before, &slurm);
            prop_assert_eq!(in_copy.map(|planned| planned.at), start, "{:?} in the copy", waiting);
        }
    }
}
