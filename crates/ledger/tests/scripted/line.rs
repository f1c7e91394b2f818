//! The line: its order, the jobs that may start before the first job in line, and the jobs to preempt for it.

use crate::script::{Scripted, claim, jobs, pod, row_of, wish};
use ledger::{Candidate, Claim, Event, KnownJobs, ModelFacts, Placement, Rank, Seconds, Wish};
use vipu_types::IpuCount;

const HOUR: i64 = 3600;

/// Returns the ledger's answer to a job that wants to start, given the ends of the running jobs.
fn start(scripted: &mut Scripted, wish: &Wish, now: i64, ends: &[(u32, i64)]) -> String {
    let verdict = scripted.ledger.may_start(wish, &jobs(now, ends));
    verdict.map_or_else(|why| why.to_string(), |_| "go".into())
}

const KEPT: &str = "vipu: IPUs of pod64 are kept for job 10";

#[test]
fn small_jobs_that_are_through_in_time_slip_in() {
    let mut scripted = row_of(&[(1, 32)]);
    let ends = [(1, HOUR)];
    let big = wish(10, 64, HOUR);
    assert_eq!(start(&mut scripted, &wish(11, 1, 2 * HOUR), 0, &ends), "go", "nobody is before it");
    assert!(start(&mut scripted, &big, 0, &ends).contains("64 IPUs of pod64 needed, 32 free"));
    assert_eq!(start(&mut scripted, &wish(11, 1, HOUR), 0, &ends), "go");
    assert_eq!(start(&mut scripted, &wish(11, 1, HOUR), 5, &ends), KEPT, "5 seconds too late");
    assert_eq!(start(&mut scripted, &wish(11, 1, 2 * HOUR), 0, &ends), KEPT);
}

#[test]
fn slurms_order_decides_which_job_yields() {
    let mut scripted = row_of(&[(1, 32)]);
    let ends = [(1, HOUR)];
    let ranked = |tier, priority, job| {
        let wish = wish(job, 16, 2 * HOUR);
        Wish { rank: Rank { tier, priority, ..wish.rank }, ..wish }
    };
    let big = Wish { rank: Rank { tier: 2, priority: 5, ..wish(10, 64, 1).rank }, ..wish(10, 64, 1) };
    start(&mut scripted, &big, 0, &ends);
    for (tier, priority, job, first) in [
        (3, 1, 11, true),
        (1, 9, 9, false),
        (2, 6, 11, true),
        (2, 4, 9, false),
        (2, 5, 9, true),
        (2, 5, 11, false),
    ] {
        let expected = if first { "go" } else { KEPT };
        let told = start(&mut scripted, &ranked(tier, priority, job), 0, &ends);
        assert_eq!(told, expected, "tier {tier}, priority {priority}, job {job}");
    }
    let mut reserved = ranked(1, 1, 11);
    reserved.rank.in_reservation = true;
    assert_eq!(start(&mut scripted, &reserved, 0, &ends), "go");
}

#[test]
fn a_plan_goes_with_its_job() {
    let ends = [(1, HOUR)];
    let small = wish(11, 1, 2 * HOUR);
    let with_plan = || {
        let mut scripted = row_of(&[(1, 32)]);
        start(&mut scripted, &wish(10, 64, HOUR), 0, &ends);
        assert_eq!(start(&mut scripted, &small, 0, &ends), KEPT);
        scripted
    };
    assert_eq!(start(&mut with_plan(), &small, 60, &ends), KEPT, "it may be looked at any moment");
    assert_eq!(start(&mut with_plan(), &small, 61, &ends), "go", "nobody looked at it for long");
    // A job that runs does not wait. Neither does a cancelled or held job.
    assert_eq!(start(&mut with_plan(), &small, 1, &[(1, HOUR), (10, 5 * HOUR)]), "go");
    let mut begun = with_plan();
    begun.tell(Event::Fini { job: 1, ending: ledger::Ending::Unheld });
    begun.tell(Event::begin(Claim { size: IpuCount::ONE, ..claim("10") }));
    assert_eq!(start(&mut begun, &small, 0, &ends), "go");
}

#[test]
fn others_use_ipus_while_the_first_job_in_line_waits_for_nodes() {
    let mut scripted = row_of(&[]);
    let line = jobs(0, &[]);
    // The IPUs of job 10 are free, but its nodes are not free for an hour.
    scripted.ledger.plan(&wish(10, 64, HOUR), Seconds(HOUR), &line);
    assert_eq!(start(&mut scripted, &wish(11, 64, HOUR), 0, &[]), "go");
    assert_eq!(start(&mut scripted, &wish(11, 64, HOUR + 1), 0, &[]), KEPT);
    assert_eq!(scripted.ledger.forecast(&wish(11, 64, HOUR + 1), Seconds(0), &line), Some(Seconds(2 * HOUR)));
}

#[test]
fn others_use_ipus_until_the_start_that_the_scheduler_expects() {
    let go = |scripted: &mut Scripted, expected, duration| {
        let expected = [(10, Seconds(expected))].into();
        let line = KnownJobs { expected, ..jobs(1, &[]) };
        scripted.ledger.may_start(&wish(11, 64, duration), &line).is_ok()
    };
    let mut scripted = row_of(&[]);
    // The ledger answered job 10 that its IPUs are free now. Job 10 therefore waits for something else.
    let told = scripted.ledger.plan(&wish(10, 64, HOUR), Seconds(0), &jobs(0, &[]));
    assert_eq!(told, Some(Seconds(0)));
    assert!(go(&mut scripted, HOUR, HOUR - 1));
    assert!(!go(&mut scripted, HOUR, HOUR));

    // The ledger answered job 10 that it waits for IPUs. When they are free sooner, it may start sooner.
    let (mut scripted, ends) = (row_of(&[(1, 64)]), [(1, HOUR)]);
    let told = scripted.ledger.plan(&wish(10, 64, HOUR), Seconds(0), &jobs(0, &ends));
    assert_eq!(told, Some(Seconds(HOUR + 1)));
    scripted.tell(Event::Gone(claim("1").partition));
    assert!(!go(&mut scripted, HOUR + 1, HOUR - 1));
}

#[test]
fn a_job_that_enters_the_line_counts_at_once() {
    let mut scripted = row_of(&[(1, 32), (2, 16)]);
    let (ends, newcomer) = ([(1, 1000 * HOUR), (2, HOUR)], wish(99, 1, 2 * HOUR));
    start(&mut scripted, &wish(11, 64, HOUR), 0, &ends);
    assert_eq!(start(&mut scripted, &newcomer, 0, &ends), "go");
    start(&mut scripted, &wish(10, 32, HOUR), 0, &ends);
    assert_eq!(start(&mut scripted, &newcomer, 0, &ends), KEPT);
}

#[test]
fn a_job_far_back_in_line_moves_up_as_others_leave() {
    let mut scripted = row_of(&[(1, 32), (2, 16)]);
    let mut ends = vec![(1, 1000 * HOUR), (2, HOUR)];
    for job in 10..26 {
        start(&mut scripted, &wish(job, 64, HOUR), 0, &ends);
    }
    // The newcomer is only in the way of job 26, which is the seventeenth in line.
    let (behind, newcomer) = (wish(26, 32, HOUR), wish(99, 1, 2 * HOUR));
    assert!(start(&mut scripted, &behind, 0, &ends).contains("needed, 16 free"));
    assert_eq!(start(&mut scripted, &newcomer, 0, &ends), "go");
    let kept = "vipu: IPUs of pod64 are kept for job 26";
    ends.push((10, HOUR));
    assert_eq!(start(&mut scripted, &newcomer, 1, &ends), kept, "job 10 is not waiting any more");
    assert!(start(&mut scripted, &behind, 100, &ends).contains("needed"));
    assert_eq!(start(&mut scripted, &newcomer, 100, &ends), kept, "all others were forgotten");
    assert_eq!(start(&mut scripted, &newcomer, 161, &ends), "go", "nobody is left");
}

/// Returns the fewest jobs that would have to end for job 10 to have this many IPUs.
fn victims(scripted: &mut Scripted, ipus: u64, candidates: &[u32]) -> Option<Vec<u32>> {
    let candidates: Vec<_> = candidates.iter().map(|&job| Candidate { job, dying: false }).collect();
    scripted.ledger.victims(&wish(10, ipus, HOUR), &candidates, &jobs(0, &[]))
}

#[test]
fn the_fewest_jobs_that_make_a_block_go() {
    let mut scripted = row_of(&[(1, 8), (2, 8), (3, 16), (4, 16), (5, 16)]);
    let all = [1, 2, 3, 4, 5];
    assert_eq!(victims(&mut scripted, 8, &all), Some(vec![1]), "Slurm would rather have job 1 go than job 2");
    assert_eq!(victims(&mut scripted, 16, &all), Some(vec![3]), "one job rather than two");
    assert_eq!(victims(&mut scripted, 32, &all), Some(vec![4, 5]));
    assert_eq!(victims(&mut scripted, 64, &all), Some(vec![1, 2, 3, 4, 5]));
    assert_eq!(victims(&mut scripted, 64, &all[1..]), None, "job 1 stays");
    assert_eq!(victims(&mut scripted, 32, &[2, 3, 4]), None, "no half is theirs");
    assert_eq!(victims(&mut scripted, 16, &[2, 1]), Some(vec![2, 1]));
}

#[test]
fn an_ending_job_is_not_preempted_again() {
    let mut scripted = row_of(&[(1, 32), (2, 32)]);
    scripted.tell(Event::Fini { job: 1, ending: ledger::Ending::Held });
    assert_eq!(victims(&mut scripted, 32, &[2]), Some(vec![]));
    assert_eq!(victims(&mut scripted, 64, &[2]), Some(vec![2]));
    let dying = [Candidate { job: 2, dying: true }];
    let line = jobs(0, &[]);
    assert_eq!(scripted.ledger.victims(&wish(10, 64, HOUR), &dying, &line), Some(vec![]));
}

/// Returns the place of a job that may start, on a Pod64 with jobs of 16 and 8 IPUs at its beginning.
fn placed(ipus: u64, line: &[Wish]) -> Vec<u32> {
    let mut scripted = row_of(&[(1, 16), (2, 8)]);
    let facts = ModelFacts { placement: Placement::Explicit, ..pod("pod64") };
    scripted.tell(Event::Models(vec![facts]));
    let jobs = jobs(0, &[(1, HOUR), (2, HOUR)]);
    for wish in line {
        scripted.ledger.plan(wish, Seconds(0), &jobs);
    }
    let wish = wish(20, ipus, 5 * HOUR);
    let Ok(controller) = scripted.ledger.may_start(&wish, &jobs) else { return vec![] };
    let places = scripted.ledger.place(&wish, &controller, &jobs);
    assert!(places.iter().all(|place| place.domain == 0));
    // The claim takes exactly the IPUs of its place, even before its partition is listed.
    let before = scripted.ledger.view().models[0].pods[0].free;
    scripted.tell(Event::begin(Claim { size: wish.size, ipus: places.clone(), ..claim("20") }));
    assert_eq!(scripted.ledger.view().models[0].pods[0].free, before - wish.size.get());
    places.iter().map(|place| place.index).collect()
}

#[test]
fn a_place_breaks_up_as_little_as_it_can() {
    assert_eq!(placed(8, &[]), (24..32).collect::<Vec<_>>());
    assert_eq!(placed(1, &[]), [24]);
    assert_eq!(placed(16, &[]), (32..48).collect::<Vec<_>>());
    assert_eq!(placed(64, &[]), []);
}

#[test]
fn a_chosen_place_leaves_plans_alone() {
    // Job 10 will have the first half when jobs 1 and 2 are over, or the second half.
    assert_eq!(placed(8, &[wish(10, 32, HOUR)]), (24..32).collect::<Vec<_>>(), "the second half is free now");
    let both = [wish(10, 32, 2 * HOUR), wish(11, 32, HOUR)];
    assert_eq!(placed(8, &both[..1]).len(), 8);
    assert_eq!(placed(8, &both), [], "job 11 has the first half from job 2's end on");
}
