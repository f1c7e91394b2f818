//! A day of jobs with and without partitions that stay after their jobs: no job waits for removals and resets.

use ledger::{KeepIdleFor, Placement, ReuseReset};
use simulate::ledger_scheduler::Costs;
use simulate::reuse::{Case, Difference, Scene, Trace};
use simulate::workload::Workload;

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
