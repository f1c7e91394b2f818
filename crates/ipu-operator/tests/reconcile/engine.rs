//! The ledger and its driver, as the reconciler sees them: some IPUs, partitions that take time, and a journal that
//! outlives the operator.

use std::collections::BTreeMap;

use ipu_operator::reconcile::{Partition, ReadyPartition};

/// An instance of a job: the job's UID, and the number.
pub type Key = (String, u32);

/// What is being done with a partition, with the ticks that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Creating(u32),
    Ready,
    Broken,
    Ending(u32),
}

#[derive(Clone, Debug)]
struct Held {
    id: String,
    ipus: u32,
    run: u32,
    state: State,
}

#[derive(Default)]
pub struct Engine {
    pub ipus: u32,
    /// Ticks that a create, a reset or a removal takes.
    pub slowness: u32,
    held: BTreeMap<Key, Held>,
    numbers: u32,
}

impl Engine {
    pub fn new(ipus: u32) -> Self {
        Self { ipus, slowness: 1, ..Self::default() }
    }

    pub fn used(&self) -> u32 {
        self.held.values().filter(|held| held.state != State::Waiting).map(|held| held.ipus).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.held.keys()
    }

    /// Whether a container of this run may use this partition now.
    pub fn serves(&self, key: &Key, id: &str, run: u32) -> bool {
        self.held.get(key).is_some_and(|held| {
            held.id == id && held.run == run && matches!(held.state, State::Ready | State::Broken)
        })
    }

    pub fn want(&mut self, key: Key, run: u32, ipus: u32) {
        self.numbers += 1;
        let id = format!("k8s_{}", self.numbers);
        let slowness = self.slowness;
        let held = self.held.entry(key).or_insert(Held { id, ipus, run, state: State::Waiting });
        let is_over = held.state == State::Broken || (held.state == State::Ready && held.run < run);
        if is_over {
            held.state = State::Creating(slowness);
        }
        if held.state != State::Ready {
            held.run = run;
        }
    }

    pub fn free(&mut self, key: &Key) {
        let Some(held) = self.held.get_mut(key) else { return };
        match held.state {
            State::Waiting => drop(self.held.remove(key)),
            State::Ending(_) => {}
            _ => held.state = State::Ending(self.slowness),
        }
    }

    pub fn break_one(&mut self, pick: usize) {
        let mut ready: Vec<_> = self.held.values_mut().filter(|held| held.state == State::Ready).collect();
        let count = ready.len();
        if let Some(held) = ready.get_mut(pick % count.max(1)) {
            held.state = State::Broken;
        }
    }

    pub fn tick(&mut self) {
        self.held.retain(|_, held| held.state != State::Ending(0));
        let mut free = self.ipus - self.used();
        let mut waiting: Vec<_> = self.held.values_mut().collect();
        waiting.sort_by_key(|held| held.id[4..].parse::<u32>().unwrap());
        for held in waiting {
            match &mut held.state {
                State::Waiting if held.ipus <= free => {
                    free -= held.ipus;
                    held.state = State::Creating(self.slowness);
                }
                State::Creating(0) => held.state = State::Ready,
                State::Creating(ticks) | State::Ending(ticks) => *ticks -= 1,
                State::Waiting | State::Ready | State::Broken => {}
            }
        }
    }

    /// The partitions of a job.
    pub fn seen(&self, uid: &str) -> BTreeMap<u32, Partition> {
        let of_job = self.held.iter().filter(|((job, _), _)| job == uid);
        of_job.map(|((_, instance), held)| (*instance, held.seen())).collect()
    }
}

impl Held {
    fn seen(&self) -> Partition {
        match self.state {
            State::Waiting => Partition::Waiting { reason: format!("{} IPUs needed", self.ipus) },
            State::Creating(_) => Partition::Creating,
            State::Ready => Partition::Ready(ReadyPartition {
                id: self.id.clone(),
                run: self.run,
                host: "10.1.1.1".to_owned(),
                port: 8090,
                node_labels: BTreeMap::from([("vipu-ctrl".to_owned(), "c1".to_owned())]),
            }),
            State::Broken => Partition::Broken { reason: "an IPU has failed".to_owned() },
            State::Ending(_) => Partition::Ending,
        }
    }
}
