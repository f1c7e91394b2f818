//! The GRES records of a job.

use slurm_release::{Field, Layout, Ptr};
use vipu_types::GresType;

use super::NO_CONSUME;
use crate::gres::VIPU;
use crate::job::JobRef;
use crate::list;
use crate::record::Record;

/// The records of IPUs in a list of GRES records (`gres_job_state_t`), one for each type.
pub(super) struct IpuRecords<'lock>(Vec<IpuRecord<'lock>>);

impl<'lock> IpuRecords<'lock> {
    /// Only for a list that [`super::check`] has found good. `None` without a list.
    pub(super) fn of(job: JobRef<'lock>, list: Field<Ptr>) -> Option<Self> {
        let (layout, at) = (job.layout(), job.record().pointer(list));
        // SAFETY: job lock; a list of the record, which changes under the job write lock alone.
        let items = unsafe { list::items(job.host().slurmctld.call.list_for_each, at) }?;
        let record = |item| {
            // SAFETY: job lock; an element of the list is a gres_state_t.
            let state = unsafe { Record::new(item) };
            let is_of_ipus = state.read(layout.gres_state.plugin_id) == VIPU;
            // SAFETY: job lock; in a job's list, `gres_data` of each element is a gres_job_state_t.
            let record = unsafe { state.follow(layout.gres_state.gres_data) };
            record.filter(|_| is_of_ipus).map(|record| IpuRecord { record, layout })
        };
        Some(Self(items.into_iter().filter_map(record).collect()))
    }

    /// Each record, and whether it stands for this type. If none has the type, the first one stands for it.
    pub(super) fn for_type(self, of: &GresType) -> Vec<(IpuRecord<'lock>, bool)> {
        let own = of.to_string();
        let place = self.0.iter().position(|record| record.type_name() == Some(own.as_bytes())).unwrap_or(0);
        self.0.into_iter().enumerate().map(|(at, record)| (record, at == place)).collect()
    }

    pub(super) fn all(self) -> impl Iterator<Item = IpuRecord<'lock>> {
        self.0.into_iter()
    }
}

/// The record of one type.
pub(super) struct IpuRecord<'lock> {
    record: Record<'lock>,
    layout: &'static Layout,
}

impl IpuRecord<'_> {
    fn type_name(&self) -> Option<&[u8]> {
        self.record.bytes(self.layout.gres_job_state.type_name)
    }

    pub(super) fn total(&self) -> u64 {
        self.record.read(self.layout.gres_job_state.total_gres)
    }

    pub(super) fn set_total(&self, total: u64) {
        self.record.write(self.layout.gres_job_state.total_gres, total);
    }

    pub(super) fn is_of_no_node(&self) -> bool {
        self.record.read(self.layout.gres_job_state.node_cnt) == 0
    }

    /// Whether Slurm has marked the GRES of a node as not counted. The marks of nodes are never changed, so
    /// they tell for good that the GRES is `no_consume`.
    pub(super) fn is_marked_on_a_node(&self) -> bool {
        let fields = &self.layout.gres_job_state;
        let first = self.record.pointer(fields.gres_cnt_node_alloc).cast::<u64>();
        let nodes = if first.is_null() { 0 } else { self.record.read(fields.node_cnt) as usize };
        // SAFETY: job lock; the array has a number for each of the `node_cnt` nodes.
        (0..nodes).any(|node| unsafe { first.add(node).read() } == NO_CONSUME)
    }
}
