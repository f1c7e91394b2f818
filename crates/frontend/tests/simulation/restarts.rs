//! Many restarts of slurmctld in a row. They leave no more in the journal than one does, and none of them asks a
//! controller to remove what is gone.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::controller::Mood;
use crate::faults::Kind;
use crate::play;
use crate::schedule::Schedule;

/// The time that a slurmctld has for the partitions that it finds in the journal.
const SETTLED: Duration = Duration::from_secs(20);

/// The longest life of a slurmctld that is restarted.
const LONGEST_LIFE: Duration = Duration::from_secs(4);

/// Restarts slurmctld as often as the schedule says. No job is left.
pub async fn in_a_row(cluster: &Rc<Cluster>) -> Result<(), String> {
    if cluster.schedule.restarts == 0 {
        return Ok(());
    }
    play::kill(cluster, false).await;
    sleep(SETTLED).await;
    let (after_one, removals) = (cluster.disk.open_entries(), removals(cluster));
    if after_one.is_empty() {
        return Err(
            "the kills have left nothing in the journal, so that the restarts show nothing".to_owned()
        );
    }
    for number in 1..=cluster.schedule.restarts {
        sleep(cluster.up_to(LONGEST_LIFE)).await;
        play::kill(cluster, false).await;
        let open = cluster.disk.open_entries();
        if open.iter().any(|entry| !after_one.contains(entry)) {
            return Err(format!(
                "the journal has {after_one:?} after one restart, and {open:?} after {number}"
            ));
        }
    }
    let asked = self::removals(cluster) - removals;
    if asked > 0 {
        return Err(format!("{asked} times a controller was asked to remove what is gone"));
    }
    let open = cluster.disk.open_entries();
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are still in the journal")) }
}

fn removals(cluster: &Cluster) -> u64 {
    cluster.counts.borrow().removals
}

/// slurmctld is killed every few seconds while jobs run, and each second create or removal is not answered.
#[test]
fn two_hundred_restarts_leave_no_more_in_the_journal_than_one() {
    for (seed, mood) in (3..).zip([Mood::LosesReplies, Mood::CreatesLate, Mood::RemovesLate]) {
        let schedule = Schedule::restarts(seed, Kind::InMood(mood));
        play::play(schedule, None).unwrap_or_else(|why| panic!("{why}\n\nseed {seed}, {mood:?}"));
    }
}
