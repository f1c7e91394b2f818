//! How long jobs wait: in a week under each policy of scheduling, and in a day with and without partitions that stay after
//! their jobs. The simulation itself checks that no IPU has two owners and that each job starts once.

use ledger::{KeepIdleFor, Placement, ReuseReset};
use simulate::ledger_scheduler::Costs;
use simulate::policy::Policy;
use simulate::report::{Waiting, utilisation};
use simulate::reuse::{Case, Difference, Scene, Trace};
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

/// A day of jobs.
fn scene(trace: Trace, placement: Placement) -> Scene {
    let workload = Workload { ipus: 64, days: 1, load: 0.6, seed: 1 };
    Scene { trace, workload, placement, costs: Costs { create: 20, removal: 5, reset: 5 } }
}

#[test]
fn reuse_simulated_for_waiting_jobs_lets_nobody_wait_for_removals() {
    for placement in [Placement::Controller, Placement::Explicit] {
        let scene = scene(Trace::Batches, placement);
        let without = scene.play(None);
        for reset in [ReuseReset::Always, ReuseReset::OtherUsers] {
            let with = scene.play(Some(Case::Keep(600, KeepIdleFor::WaitingJobs, reset)));
            let found = Difference::new(&without, &with);
            let case = format!("{placement:?}, {reset:?}");
            assert_eq!(found.own.jobs, 0, "{case}: jobs wait for removals and resets");
            let share = found.creates as f64 / found.seconds.len() as f64;
            assert!(share > 0.1, "{case}: {share} of the creates are avoided");
            assert!(found.ipu_hours > 0, "{case}: {} IPU hours are saved", found.ipu_hours);
        }
    }
}

#[test]
fn reuse_simulated_for_any_job_lets_few_wait_for_one_removal() {
    let scene = scene(Trace::Year, Placement::Controller);
    let with = scene.play(Some(Case::Keep(600, KeepIdleFor::AnyJob, ReuseReset::OtherUsers)));
    let found = Difference::new(&scene.play(None), &with);
    assert!(found.creates > 0, "{} creates are avoided", found.creates);
    let few = 1..=found.seconds.len() / 20;
    assert!(few.contains(&found.own.jobs), "{} jobs wait for removals", found.own.jobs);
    assert_eq!(found.own.most, 5, "removals for one job are made at the same time");
}
