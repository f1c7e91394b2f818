//! The times that partitions take in each state and until they are ready, and the use of each model in the last hour.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ledger::Stay;
use vipu_status::{Histogram, Minute, State, Status};
use vipu_types::{PartitionId, PodId};

use super::partition::state;

/// The bounds for the time in a state, in seconds.
const STAYS: [f64; 12] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0, 14400.0, 86400.0];

/// The number of minutes of the last hour.
const HOUR: usize = 60;

/// The part of a new time in the usual one. The usual time so follows a change within some partitions.
const WEIGHT: f64 = 0.25;

/// The history of one plugin.
#[derive(Default)]
pub(super) struct History {
    stays: BTreeMap<State, Histogram>,
    /// The milliseconds so far of partitions in a state of which one phase is over and another follows.
    unfinished: HashMap<PartitionId, u64>,
    /// The usual time from the decision to make a partition until it is ready, in seconds.
    usual: HashMap<PodId, f64>,
    /// The use of each model in the last hour, the oldest first.
    minutes: HashMap<String, VecDeque<Minute>>,
}

impl History {
    pub(super) fn add(&mut self, stay: &Stay) {
        let (own, _) = state(&stay.phase);
        let millis = stay.millis + self.unfinished.remove(&stay.partition).unwrap_or(0);
        if stay.next.as_ref().is_some_and(|next| state(next).0 == own) {
            self.unfinished.insert(stay.partition.clone(), millis);
        } else {
            self.stays.entry(own).or_insert_with(|| Histogram::new(&STAYS)).add(seconds(millis));
        }
        if let Some(made_in) = stay.made_in.map(seconds) {
            let usual = self.usual.entry(stay.pod.clone()).or_insert(made_in);
            *usual += WEIGHT * (made_in - *usual);
        }
    }

    /// The usual time until a partition is ready, in seconds.
    pub(super) fn usual_create(&self, pod: &PodId) -> Option<f64> {
        self.usual.get(pod).copied()
    }

    /// Notes the use of each model once a minute, and fills the history into the document.
    pub(super) fn fill_in(&mut self, status: &mut Status) {
        status.counters.seconds_in_state.clone_from(&self.stays);
        for model in &mut status.models {
            let minutes = self.minutes.entry(model.name.clone()).or_default();
            if minutes.back().is_none_or(|last| status.written >= last.at + 60 || status.written < last.at) {
                let used = model.pods.iter().map(|pod| pod.ipus.used).sum();
                let waiting = status.line.iter().filter(|job| *job.model == *model.name).count();
                let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
                minutes.push_back(Minute { at: status.written, used, waiting });
                if minutes.len() > HOUR {
                    minutes.pop_front();
                }
            }
            model.last_hour = minutes.iter().copied().collect();
        }
    }
}

fn seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use ledger::Phase;
    use vipu_status::Model;
    use vipu_types::{ControllerName, ModelName};

    use super::*;

    #[test]
    fn cli_status_history_has_an_hour_and_the_usual_time_until_ready() {
        let mut history = History::default();
        let model = Model { name: "pod64".into(), ..Model::default() };
        let mut status = Status { models: vec![model], ..Status::default() };
        for at in (0..2 * 3600).step_by(10) {
            status.written = at;
            history.fill_in(&mut status);
        }
        let minutes = &status.models[0].last_hour;
        assert_eq!((minutes.len(), minutes[0].at, minutes[59].at), (60, 3600, 7140));

        let controller = ControllerName::new("vipu", 8090).unwrap();
        let pod = PodId { model: ModelName::new("pod64").unwrap(), controller };
        assert_eq!(history.usual_create(&pod), None);
        for (made_in, usual) in [(4000, 4.0), (8000, 5.0)] {
            let partition = PartitionId::new("slurm_1").unwrap();
            let stay = |phase, next, millis, made_in| {
                let (pod, partition) = (pod.clone(), partition.clone());
                Stay { pod, partition, phase, next: Some(next), millis, made_in }
            };
            // Two phases are one state for people.
            history.add(&stay(Phase::Claimed, Phase::Creating, 1000, None));
            history.add(&stay(Phase::Creating, Phase::Ready, made_in - 1000, Some(made_in)));
            assert_eq!(history.usual_create(&pod), Some(usual));
        }
        history.fill_in(&mut status);
        let creating = &status.counters.seconds_in_state[&State::Creating];
        assert_eq!((creating.count, creating.sum), (2, 12.0));
    }
}
