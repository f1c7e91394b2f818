use std::sync::Arc;

use ledger::{Action, Claim, DriverAction, Ending, HostAction, Millis, Seconds};
use shuttle::thread;

use super::*;
use crate::clocks_and_queues::HostTask;
use crate::status::tests::claim;

/// The number of thread schedules that are tried.
const SCHEDULES: usize = 2000;

/// Keeps the actions in the order in which they leave.
#[derive(Default)]
struct Noted(std::sync::Mutex<Vec<Action>>);

impl Outside for Noted {
    fn now(&self) -> Millis {
        Millis(0)
    }

    fn unix_time(&self) -> Seconds {
        Seconds(0)
    }

    fn local_time(&self, _: Seconds) -> String {
        String::new()
    }

    fn carry_out(&self, actions: Vec<Action>) {
        self.0.lock().unwrap().extend(actions);
    }

    fn note_launched(&self, _: Claim, _: Seconds) {}

    fn ask_host(&self, _: HostTask) {}

    fn is_switched_off(&self) -> bool {
        false
    }
}

/// Tells the shared ledger on one thread that a partition is up, and on another that its job has ended.
/// Returns the actions in their order, without surveys and cancelled creates.
fn up_and_ended() -> Vec<Action> {
    let shared = Arc::new((SharedLedger::default(), Noted::default()));
    assert!(shared.0.tell(shared.0.ledger(), &shared.1, Event::begin(claim(1))));
    shared.1.0.lock().unwrap().clear();
    let tell = |event: Event| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || assert!(shared.0.tell(shared.0.ledger(), &shared.1, event)))
    };
    let vipu_io = tell(Event::Up(claim(1).partition));
    let callback = tell(Event::Fini { job: 1, ending: Ending::Held });
    vipu_io.join().unwrap();
    callback.join().unwrap();
    shared
        .1
        .0
        .lock()
        .unwrap()
        .drain(..)
        .filter(|action| {
            !matches!(
                action,
                Action::Driver(DriverAction::Survey(_)) | Action::Driver(DriverAction::CancelCreate(_))
            )
        })
        .collect()
}

/// A launch after the end of its job would never be undone.
#[test]
fn actions_leave_in_the_order_they_were_decided() {
    let check = || match &up_and_ended()[..] {
        // The job ended first, and was not launched.
        [Action::Host(HostAction::AwaitNodes(_))] => {}
        [Action::Host(HostAction::OpenLaunch(_)), Action::Host(HostAction::AwaitNodes(_))] => {}
        other => panic!("{other:?}"),
    };
    shuttle::check_random(check, SCHEDULES);
}
