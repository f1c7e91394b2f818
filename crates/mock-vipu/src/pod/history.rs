//! Everything that ever happened to every partition.

use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;

/// The life of one partition. A name used again is another record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionRecord {
    /// Its name.
    pub id: String,
    /// Whether it appeared by [`super::Incident::Foreign`] instead of by a call.
    pub foreign: bool,
    /// What it is, nothing left open.
    pub made: Made,
    /// When CreatePartition was carried out.
    pub create_request: Nanos,
    /// From when on GetPartitionStatus said PS_ACTIVE for the first time, asked or not.
    pub active: Option<Nanos>,
    /// When RemovePartition was first carried out.
    pub remove_request: Option<Nanos>,
    /// When it disappeared and its IPUs became free.
    pub removed: Option<Nanos>,
    /// Which IPUs it had and when; more than one only if it was moved.
    pub tenures: Vec<Tenure>,
    /// Every change of its state.
    pub events: Vec<StateChange>,
}

/// What a partition is like. Enumerations are the API's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Graph compilation domains.
    pub gcds: u32,
    /// Replicas of all GCDs together.
    pub replicas: u32,
    /// Whether programs may use parts of it.
    pub reconfigurable: bool,
    /// `SyncType`
    pub sync_type: i32,
    /// `IpuLinkRoutingType`
    pub ipulink_routing: i32,
    /// `GatewayRoutingType`
    pub gateway_routing: i32,
}

/// A time in which a partition had certain IPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenure {
    /// The IPUs, numbered through the Pod, in routing order.
    pub ipus: Vec<u32>,
    /// From when on.
    pub from: Nanos,
    /// Until when; `None`: still.
    pub until: Option<Nanos>,
}

/// A partition came into this state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// When.
    pub at: Nanos,
    /// The ready state by its name in the API, such as `PS_ACTIVE`.
    pub ready: String,
    /// The operation state by its name in the API, such as `POS_IDLE`.
    pub operation: String,
}

/// An IPU that two partitions had at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubleOwner {
    /// The IPU.
    pub ipu: u32,
    /// Who had it.
    pub first: String,
    /// Who got it while the first had it.
    pub second: String,
    /// When.
    pub at: Nanos,
}

impl PartitionRecord {
    /// The IPUs it has, or last had.
    #[must_use]
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

/// Every case in which an IPU had two owners, judged from the records alone.
#[must_use]
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
