//! A week of jobs under each policy of scheduling. The simulation itself checks that no IPU has two owners
//! and that each job starts once.

use simulate::policy::Policy;
use simulate::report::{Waiting, utilisation};
use simulate::slurm::Outcome;
use simulate::workload::{LONGEST, Workload};

const WEEK: Workload = Workload { ipus: 64, days: 7, load: 0.9, seed: 1 };

/// The bound of a wait, in seconds. The first job in line waits for running jobs; the load decides how many
/// jobs start before it.
const BOUND: i64 = 2 * LONGEST;

fn longest_wait_of_whole_pod(outcome: &Outcome) -> i64 {
    Waiting::of(outcome, Some(WEEK.ipus)).max
}

#[test]
fn sched_week_with_plans_starves_no_job() {
    let jobs = WEEK.jobs().len();
    for policy in [Policy::Plans, Policy::PlansOnBadController, Policy::Explicit] {
        let outcome = policy.play(&WEEK);
        assert_eq!(outcome.waited.len(), jobs, "{policy}: each job starts once");
        assert_eq!(outcome.refused, 0, "{policy}: who may start has a block");
        let longest = longest_wait_of_whole_pod(&outcome);
        assert!(longest < BOUND, "{policy}: a job that needs the whole Pod waited {longest} s");
        assert!(utilisation(&outcome, &WEEK) > 0.75, "{policy}: the Pod stands idle");
    }
}

#[test]
fn sched_week_without_plans_starves_jobs_of_the_whole_pod() {
    for policy in [Policy::Counting, Policy::Blocks] {
        let longest = longest_wait_of_whole_pod(&policy.play(&WEEK));
        assert!(
            longest > 3 * BOUND,
            "{policy}: the longest wait was {longest} s, so the bound above shows nothing"
        );
    }
}

#[test]
fn sched_week_loses_little_to_blocks() {
    let (fluid, explicit) = (Policy::BestPacking.play(&WEEK), Policy::Explicit.play(&WEEK));
    let [best, real] = [fluid, explicit].map(|outcome| Waiting::of(&outcome, None).mean);
    assert!(real < 1.5 * best, "jobs wait {real} s on average, and {best} s where packing is no matter");
}
