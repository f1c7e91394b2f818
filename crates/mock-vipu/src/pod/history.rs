//! The history of every partition.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns the time from `earlier` to `self`; zero if `self` is before `earlier`.
    pub fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;
    fn add(self, later: Duration) -> Nanos {
        Nanos(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// The life of one partition. A later partition of the same name has a record of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionRecord {
    pub id: String,
    /// Whether it appeared by [`super::Incident::Foreign`] instead of by a call.
    pub foreign: bool,
    pub made: Made,
    /// The time at which CreatePartition was carried out.
    pub create_request: Nanos,
    /// The time of the first change to PS_ACTIVE, even if no call asked for the status.
    pub active: Option<Nanos>,
    /// The time at which RemovePartition was first carried out.
    pub remove_request: Option<Nanos>,
    /// The time at which it disappeared and its IPUs became free.
    pub removed: Option<Nanos>,
    /// Its IPUs and their times. There is more than one tenure only if the partition was moved.
    pub tenures: Vec<Tenure>,
    pub events: Vec<StateChange>,
}

/// The properties of a partition, with defaults filled in. Enumerations are the API's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The number of graph compilation domains.
    pub gcds: u32,
    /// The number of replicas of all GCDs together.
    pub replicas: u32,
    /// Whether programs may use parts of it.
    pub reconfigurable: bool,
    pub sync_type: i32,
    pub ipulink_routing: i32,
    pub gateway_routing: i32,
}

/// A time in which a partition had certain IPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenure {
    /// The IPUs, numbered through the Pod, in routing order.
    pub ipus: Vec<u32>,
    pub from: Nanos,
    /// The end; `None`: the partition still has them.
    pub until: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    pub at: Nanos,
    /// The new ready state by its name in the API, for example `PS_ACTIVE`.
    pub ready: String,
    /// The new operation state by its name in the API, for example `POS_IDLE`.
    pub operation: String,
}

/// An IPU that two partitions had at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubleOwner {
    pub ipu: u32,
    /// The partition that had the IPU.
    pub first: String,
    /// The partition that got it while the first one still had it.
    pub second: String,
    /// The time at which the second one got it.
    pub at: Nanos,
}

impl PartitionRecord {
    /// Returns the IPUs that it has, or last had.
    pub fn ipus(&self) -> &[u32] {
        self.tenures.last().map_or(&[], |tenure| &tenure.ipus)
    }

    pub(crate) fn moves_to(&mut self, ipus: impl Iterator<Item = u32>, at: Nanos) {
        self.leaves(at);
        self.tenures.push(Tenure { ipus: ipus.collect(), from: at, until: None });
    }

    pub(crate) fn leaves(&mut self, at: Nanos) {
        if let Some(tenure) = self.tenures.last_mut() {
            tenure.until.get_or_insert(at);
        }
    }
}

/// Returns every case in which an IPU had two owners, from the records alone.
pub fn double_owners(records: &[PartitionRecord]) -> Vec<DoubleOwner> {
    let mut tenures: Vec<(u32, Nanos, Nanos, &str)> = Vec::new();
    for record in records {
        for tenure in &record.tenures {
            let until = tenure.until.unwrap_or(Nanos(u64::MAX));
            tenures.extend(tenure.ipus.iter().map(|&ipu| (ipu, tenure.from, until, record.id.as_str())));
        }
    }
    tenures.sort_unstable();
    let mut found = Vec::new();
    let mut longest: Option<(u32, Nanos, &str)> = None;
    for (ipu, from, until, id) in tenures {
        match longest.filter(|(same, ..)| *same == ipu) {
            Some((_, busy_until, first)) => {
                if from < busy_until {
                    found.push(DoubleOwner { ipu, first: first.into(), second: id.into(), at: from });
                }
                if until > busy_until {
                    longest = Some((ipu, until, id));
                }
            }
            None => longest = Some((ipu, until, id)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, ipus: &[u32], from: u64, until: Option<u64>) -> PartitionRecord {
        let tenure = Tenure { ipus: ipus.to_vec(), from: Nanos(from), until: until.map(Nanos) };
        PartitionRecord {
            id: id.into(),
            foreign: false,
            made: Made {
                gcds: 1,
                replicas: 1,
                reconfigurable: false,
                sync_type: 1,
                ipulink_routing: 1,
                gateway_routing: 1,
            },
            create_request: Nanos(from),
            active: None,
            remove_request: None,
            removed: None,
            tenures: vec![tenure],
            events: Vec::new(),
        }
    }

    #[test]
    fn an_overlap_is_found_behind_a_shorter_one() {
        let records =
            [record("long", &[3], 0, None), record("short", &[3], 1, Some(2)), record("late", &[3], 5, None)];
        let found = double_owners(&records);
        let pairs: Vec<_> = found.iter().map(|case| (case.first.as_str(), case.second.as_str())).collect();
        assert_eq!(pairs, [("long", "short"), ("long", "late")]);
        assert_eq!((found[1].ipu, found[1].at), (3, Nanos(5)));
    }
}
