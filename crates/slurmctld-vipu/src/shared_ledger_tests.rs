use std::sync::{Arc, mpsc};

use ledger::{Claim, Ending};
use shuttle::thread;
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, Shape};

use super::*;

/// How many ways of the threads through the locks are tried.
const SCHEDULES: usize = 2000;

fn claim() -> Claim {
    Claim {
        partition: PartitionId::of_run("slurm", 1, 0).unwrap(),
        run: JobRun { job: 1, restart: 0, start: 0 },
        user: 1000,
        model: ModelName::new("pod64").unwrap(),
        controller: "vipu:8090".parse().unwrap(),
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: None,
        ipus: Vec::new(),
    }
}

/// Tells the shared ledger of a job whose partition is there on one thread, of its end on another; says what vipu-host gets to
/// do, and in which order.
fn up_and_ended() -> Vec<Action> {
    let (driver, _orders) = driver::channel();
    let (host, tasks) = mpsc::channel();
    let shared_ledger = Arc::new(SharedLedger::new(driver, host));
    let now = || Millis(0);
    assert!(shared_ledger.tell(now, Event::Begin(claim())));
    let vipu_io = {
        let shared_ledger = Arc::clone(&shared_ledger);
        thread::spawn(move || assert!(shared_ledger.tell(now, Event::Up(claim().partition))))
    };
    let callback = {
        let shared_ledger = Arc::clone(&shared_ledger);
        thread::spawn(move || assert!(shared_ledger.tell(now, Event::Fini { job: 1, ending: Ending::Held })))
    };
    vipu_io.join().unwrap();
    callback.join().unwrap();
    let action = |task| match task {
        HostTask::Act(action) => action,
        _ => unreachable!("the shared_ledger sends actions only"),
    };
    tasks.try_iter().map(action).collect()
}

/// A job that is launched after its end was seen to would be launched for good.
#[test]
fn actions_leave_in_the_order_they_were_decided() {
    let check = || match &up_and_ended()[..] {
        // It ended first, and was not launched.
        [Action::AwaitNodes(_)] => {}
        [Action::OpenLaunch(_), Action::AwaitNodes(_)] => {}
        other => panic!("{other:?}"),
    };
    shuttle::check_random(check, SCHEDULES);
}
