//! Times in which only jobs with all IPUs of the Pod run (WholeTimes).

use crate::script::{Scripted, empty_pod, jobs, row_of, wish};
use ledger::{Candidate, KnownJobs, Seconds, WholeTime, WholeTimes, Wish};
use vipu_types::IpuCount;

const HOUR: i64 = 3600;

/// Jobs at this time, with a time for jobs of 64 IPUs from the tenth to the twelfth hour, and another one a day later.
fn at(hour: i64, ends: &[(u32, i64)]) -> KnownJobs {
    let time = |day: i64| WholeTime {
        from: Seconds((day * 24 + 10) * HOUR),
        until: Seconds((day * 24 + 12) * HOUR),
        text: "daily 10:00-12:00".into(),
    };
    let whole = IpuCount::new(64).unwrap();
    let times = [time(0), time(1)].into();
    KnownJobs {
        whole_times: WholeTimes { whole, times, known_until: Seconds(48 * HOUR) },
        ..jobs(hour * HOUR, ends)
    }
}

fn answer(scripted: &mut Scripted, wish: &Wish, jobs: &KnownJobs) -> String {
    scripted.ledger.may_start(wish, jobs).map_or_else(|why| why.to_string(), |_| "go".into())
}

const WAITS: &str =
    "vipu: the job would run into a time in which pod64 is for the largest jobs: daily 10:00-12:00";

#[test]
fn a_job_that_would_run_into_the_time_waits_for_its_end() {
    let mut scripted = empty_pod();
    let (small, whole) = (wish(1, 16, HOUR), wish(2, 64, HOUR));
    assert_eq!(answer(&mut scripted, &small, &at(9, &[])), "go", "it is over at ten");
    let longer = wish(1, 16, HOUR + 1);
    assert_eq!(answer(&mut scripted, &longer, &at(9, &[])), WAITS);
    assert_eq!(scripted.ledger.forecast(&longer, Seconds(0), &at(9, &[])), Some(Seconds(12 * HOUR)));
    assert_eq!(answer(&mut scripted, &small, &at(11, &[])), WAITS);
    assert_eq!(answer(&mut scripted, &whole, &at(11, &[])), "go", "the whole Pod");
    assert_eq!(answer(&mut scripted, &small, &at(12, &[])), "go");
}

#[test]
fn a_job_that_fits_between_no_two_times_has_no_start() {
    let mut scripted = empty_pod();
    let forecast = |scripted: &mut Scripted, hours| {
        scripted.ledger.forecast(&wish(1, 16, hours * HOUR), Seconds(0), &at(0, &[]))
    };
    assert_eq!(forecast(&mut scripted, 10), Some(Seconds(0)));
    assert_eq!(forecast(&mut scripted, 22), Some(Seconds(12 * HOUR)));
    assert_eq!(forecast(&mut scripted, 23), None, "nothing is known of the third day");
}

/// Its plan after the time is kept as any other.
#[test]
fn a_job_that_waits_for_the_end_keeps_its_place_in_line() {
    let mut scripted = empty_pod();
    assert_eq!(answer(&mut scripted, &wish(1, 32, 2 * HOUR), &at(9, &[])), WAITS);
    assert_eq!(answer(&mut scripted, &wish(2, 64, HOUR), &at(9, &[])), "go", "it is over by then");
    assert_eq!(
        answer(&mut scripted, &wish(2, 64, 4 * HOUR), &at(9, &[])),
        "vipu: IPUs of pod64 are kept for job 1"
    );
}

#[test]
fn nobody_is_preempted_for_a_job_that_may_not_start() {
    let mut scripted = row_of(&[(7, 64)]);
    let ends = [(7, 100 * HOUR)];
    let candidates = [Candidate { job: 7, dying: false }];
    let mut victims = |hour| scripted.ledger.victims(&wish(1, 16, 2 * HOUR), &candidates, &at(hour, &ends));
    assert_eq!([victims(7), victims(9)], [Some(vec![7]), None]);
    assert_eq!(answer(&mut scripted, &wish(1, 16, 2 * HOUR), &at(9, &ends)), WAITS);
}
