//! The Slurm partitions, and the GRES of their nodes.

use crate::node_gres::{self, NodeGres};
use crate::node_table::table;
use crate::record::{Record, list_items};
use crate::selfcheck;
use crate::slurmctld::Host;

/// All Slurm partitions, during a job_submit or job_modify callback.
pub struct SlurmPartitions<'call> {
    all: Vec<Record<'call>>,
    host: &'static Host,
}

impl<'call> SlurmPartitions<'call> {
    /// Returns all Slurm partitions, or `None` if a record does not look as the release says
    /// ([`crate::selfcheck`]).
    ///
    /// # Safety
    /// Only inside a callback that runs under the partition and node locks; `'call` ends with that callback.
    pub(crate) unsafe fn new(host: &'static Host) -> Option<Self> {
        let slurmctld = &host.slurmctld;
        // SAFETY: partition lock (caller): NULL, or Slurm's list of partition records.
        let found = unsafe { list_items(slurmctld.call.list_for_each, slurmctld.var.part_list.get()) };
        let found = found.unwrap_or_default().into_iter();
        // SAFETY: live part_record_t under the partition lock (caller); the self-check looks at them next.
        let all: Vec<Record<'call>> = found.map(|part| unsafe { Record::new(part) }).collect();
        let are_right = all.iter().all(|part| selfcheck::partition_is_as_expected(*part, host.layout));
        are_right.then_some(Self { all, host })
    }

    /// The names of all Slurm partitions.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().filter_map(|part| self.name(*part)).collect()
    }

    /// Whether `wanted` is true of a node in the Slurm partition `name`; `None` if there is no such
    /// partition.
    pub fn has_node(&self, name: &str, wanted: &dyn Fn(&NodeGres) -> bool) -> Option<bool> {
        let part = *self.all.iter().find(|part| self.name(**part).as_deref() == Some(name))?;
        let bitmap = part.pointer(self.host.layout.part_record.node_bitmap);
        if bitmap.is_null() {
            return Some(false);
        }
        let call = &self.host.slurmctld.call;
        // SAFETY: a bitmap of the record, under the partition and node locks (`new`); both functions only
        // read it.
        let (size, is_in) = unsafe {
            ((call.bit_size)(bitmap), |place: usize| {
                (call.bit_test)(bitmap, i64::try_from(place).unwrap_or(0)) != 0
            })
        };
        // SAFETY: node lock (`new`).
        let mut nodes = unsafe { table(self.host) };
        // The bit of a node is its place in the table.
        Some(nodes.any(|(place, node)| {
            i64::try_from(place).is_ok_and(|place| place < size)
                && is_in(place)
                && selfcheck::node_has_mark(node, self.host.layout)
                && node_gres::gres_of(0, node, self.host.layout).is_some_and(|gres| wanted(&gres))
        }))
    }

    fn name(&self, part: Record<'_>) -> Option<String> {
        part.text(self.host.layout.part_record.name)
    }
}
