//! The GRES records of a job, and the checks of the members that only accounting uses.
//!
//! Each member is checked the first time that it is not empty. A member that reads wrong ends the counting of IPUs, and
//! nothing else.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use slurm_release::{Field, Layout, Ptr};
use vipu_types::GresType;

use crate::job::JobRef;
use crate::log;
use crate::probe::{self, Probe};
use crate::record::{LIST_MAGIC, Record, list_items};
use crate::slurmd_gres::VIPU;

/// `NO_CONSUME_VAL64`, the same in every release: the number in the allocation of a `no_consume` GRES.
pub(super) const NO_CONSUME: u64 = 0xffff_ffff_ffff_fffd;

static OFF: OnceLock<String> = OnceLock::new();

/// The reason why IPUs are not counted, if Slurm is not as its release is known to be.
pub fn why_off() -> Option<&'static str> {
    OFF.get().map(String::as_str)
}

pub(super) fn turn_off(why: &str) {
    if OFF.set(why.to_owned()).is_ok() {
        log::error(&format!(
            "select/vipu: the IPUs of jobs cannot be entered into Slurm's records: {why}; limits and billing by gres/vipu do not apply, jobs \
             run as before; please report this line; a patched Slurm needs a slurm-layout.conf"
        ));
    }
}

/// The records of IPUs in a list of GRES records (`gres_job_state_t`), one for each type.
pub(super) struct IpuRecords<'lock>(Vec<IpuRecord<'lock>>);

impl<'lock> IpuRecords<'lock> {
    /// The records in this list. `None` without a list, or if the member reads wrong.
    pub(super) fn of(job: JobRef<'lock>, list: Field<Ptr>) -> Option<Self> {
        if !are_as_expected(job, list) {
            return None;
        }
        let (layout, at) = (job.layout(), job.record().pointer(list));
        // SAFETY: job lock; a list of the record, which changes under the job write lock alone.
        let items = unsafe { list_items(job.host().slurmctld.call.list_for_each, at) }?;
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

/// The word two words before memory of Slurm's allocator, the same in every release.
const ALLOCATOR_MAGIC: usize = 0x42;

/// A bound above every number of nodes and of IPUs.
const MANY: u64 = 1 << 24;

/// The members that were found good, one bit each.
static SEEN: AtomicU8 = AtomicU8::new(0);

/// Whether the GRES records in a list of the job can be used.
fn are_as_expected(job: JobRef<'_>, list: Field<Ptr>) -> bool {
    let is_request = list == job.layout().job_record.gres_list_req;
    let (bit, member) = if is_request { (1, "gres_list_req") } else { (2, "gres_list_alloc") };
    let at = job.record().pointer(list);
    at.is_null() || is_good(bit, job, member, |probe| look_at_list(probe, job, at))
}

/// Whether an array of the job with an element for each TRES can be used.
pub(super) fn array_is_as_expected(job: JobRef<'_>, field: Field<Ptr>, member: &str) -> bool {
    let bit = match member {
        "tres_req_cnt" => 4,
        "tres_alloc_cnt" => 8,
        _ => 16,
    };
    let at = job.record().pointer(field).cast_const();
    at.is_null()
        || is_good(bit, job, member, |probe| {
            let magic = probe.pointer(at.wrapping_byte_sub(2 * size_of::<usize>()));
            let is_allocated = magic.is_some_and(|magic| magic.addr() == ALLOCATOR_MAGIC);
            if is_allocated { Ok(true) } else { Err("is no memory of Slurm's allocator") }
        })
}

/// Looks at a member until it was found good. `look` returns false if there was nothing to look at.
fn is_good(
    bit: u8,
    job: JobRef<'_>,
    member: &str,
    look: impl Fn(&Probe) -> Result<bool, &'static str>,
) -> bool {
    if SEEN.load(Ordering::Relaxed) & bit != 0 {
        return true;
    }
    let Some(looked) = probe::look(look) else { return false };
    match looked {
        Ok(true) => {
            SEEN.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(false) => {}
        Err(what) => turn_off(&format!("{member} of job {} {what}", job.id())),
    }
    why_off().is_none()
}

/// Looks at a list of GRES records. False if it has none of IPUs.
fn look_at_list(probe: &Probe, job: JobRef<'_>, list: *mut c_void) -> Result<bool, &'static str> {
    if probe.number(list) != Some(LIST_MAGIC) {
        return Err("is no list");
    }
    // SAFETY: job lock; a list, as its first word tells, which changes under the job write lock alone.
    let items = unsafe { list_items(job.host().slurmctld.call.list_for_each, list) };
    let layout = job.layout();
    let mut is_any_of_ipus = false;
    for item in items.unwrap_or_default() {
        if !probe.can_read(item.as_ptr(), layout.gres_state.size.into()) {
            return Err("has elements that cannot be read");
        }
        // SAFETY: job lock; memory that was just read in its whole size.
        let state = unsafe { Record::new(item) };
        if state.read(layout.gres_state.plugin_id) == VIPU {
            look_at_record(probe, layout, state.pointer(layout.gres_state.gres_data))?;
            is_any_of_ipus = true;
        }
    }
    Ok(is_any_of_ipus)
}

fn look_at_record(probe: &Probe, layout: &Layout, at: *mut c_void) -> Result<(), &'static str> {
    let fields = &layout.gres_job_state;
    let at = NonNull::new(at).filter(|at| probe.can_read(at.as_ptr(), fields.size.into()));
    let at = at.ok_or("has a record that cannot be read")?;
    // SAFETY: job lock; memory that was just read in its whole size.
    let record = unsafe { Record::new(at) };
    let (nodes, counts) = (record.read(fields.node_cnt), record.pointer(fields.gres_cnt_node_alloc));
    let total = record.read(fields.total_gres);
    let is_right = probe.is_null_or_text(record.text_pointer(fields.type_name))
        && (total <= MANY || total == NO_CONSUME)
        && u64::from(nodes) <= MANY
        && (counts.is_null() || nodes == 0 || probe.can_read(counts, size_of::<u64>()));
    if is_right { Ok(()) } else { Err("has a record of IPUs that reads wrong") }
}
