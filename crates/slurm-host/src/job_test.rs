//! The arguments of a job_test beside the job: nodes, jobs that may be preempted, and a time.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use slurm_release as facts;

use crate::differences::is_since;
use crate::job::JobRef;
use crate::record::{Record, list_items};
use crate::slurmctld::{Host, host};
use crate::symbols::RawJob;

/// Arguments of `select_p_job_test`, as Slurm passes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawTest {
    /// `bitstr_t *`: the nodes to choose from, and after the test the chosen nodes.
    pub nodes: *mut c_void,
    /// The fewest nodes with which the job can run.
    pub min_nodes: u32,
    /// A list of jobs that the job may preempt, or NULL.
    pub candidates: *mut c_void,
    /// The place for a list of the jobs to preempt, or NULL.
    pub preemptees: *mut *mut c_void,
    /// `will_run_data_t *` from 24.11 on; any value in earlier releases.
    pub will_run: *mut c_void,
}

/// A running job_test.
pub struct Test<'lock> {
    raw: RawTest,
    host: &'static Host,
    lock: PhantomData<&'lock ()>,
}

impl<'lock> Test<'lock> {
    /// # Safety
    /// `raw` has the arguments of a running `select_p_job_test`, and `'lock` ends with it. slurmctld holds
    /// the job write lock and the node write lock around the test.
    pub unsafe fn from_callback(raw: RawTest) -> Option<Self> {
        Some(Self { raw, host: host().ok()?, lock: PhantomData })
    }

    /// Whether the job may preempt other jobs at all.
    pub fn may_preempt(&self) -> bool {
        !self.raw.candidates.is_null()
    }

    /// The jobs that this one may end by preemption, in Slurm's order of preference. A job that would only be
    /// suspended keeps its IPUs and is not among them.
    pub fn candidates(&self) -> Vec<JobRef<'lock>> {
        let call = &self.host.slurmctld.call;
        let ends = |job: &NonNull<c_void>| {
            // SAFETY: job write lock; a live job of Slurm's own list.
            let mode = u32::from(unsafe { (call.slurm_job_preempt_mode)(job.as_ptr()) });
            mode == facts::PREEMPT_MODE_REQUEUE || mode == facts::PREEMPT_MODE_CANCEL
        };
        let jobs = self.listed(self.raw.candidates).into_iter().filter(ends);
        // SAFETY: live job records under the job write lock of this view.
        jobs.map(|job| JobRef::new(unsafe { Record::new(job) }, self.host)).collect()
    }

    fn listed(&self, list: *mut c_void) -> Vec<NonNull<c_void>> {
        // SAFETY: job write lock; NULL or a list of jobs that no other thread changes meanwhile.
        unsafe { list_items(self.host.slurmctld.call.list_for_each, list) }.unwrap_or_default()
    }

    /// Whether other jobs have to be preempted for the nodes that the test found.
    pub fn has_victims(&self) -> bool {
        let Some(list) = NonNull::new(self.raw.preemptees) else { return false };
        // SAFETY: job write lock; Slurm's variable for the list.
        !self.listed(unsafe { list.read() }).is_empty()
    }

    /// Makes Slurm preempt these jobs too, after a test that said yes.
    pub fn preempt(&mut self, victims: &[JobRef<'lock>]) {
        let Some(list) = NonNull::new(self.raw.preemptees) else { return };
        let call = &self.host.slurmctld.call;
        // SAFETY: job write lock; Slurm's variable for the list, NULL or one that it made without a
        // destructor.
        unsafe {
            if list.read().is_null() && !victims.is_empty() {
                list.write((call.list_create)(None));
            }
        }
        // SAFETY: job write lock; Slurm's variable for the list.
        let there = self.listed(unsafe { list.read() });
        let is_there = |job: &RawJob| there.iter().any(|known| known.as_ptr() == *job);
        for victim in victims.iter().map(|job| job.record().address()).filter(|job| !is_there(job)) {
            // SAFETY: job write lock; the list is not NULL, and names jobs that Slurm looks at under this
            // lock.
            unsafe { (call.list_append)(list.read(), victim) };
        }
    }

    /// The number of nodes to choose from, or of the chosen nodes, and the fewest with which the job can run.
    pub fn nodes(&self) -> (u32, u32) {
        // SAFETY: job and node write lock; the bitmap of this test.
        let count = unsafe { (self.host.slurmctld.call.bit_set_count)(self.raw.nodes) };
        (count.cast_unsigned(), self.raw.min_nodes)
    }

    /// The numbers of the chosen nodes in Slurm's node table, in order.
    pub fn chosen(&self) -> Vec<u32> {
        // SAFETY: job and node write lock; the bitmap of this test.
        unsafe { self.host.slurmctld.call.bits(self.raw.nodes) }
    }

    /// Removes nodes of these numbers from the nodes to choose from, before the stock selector is asked.
    pub fn leave_out(&mut self, nodes: &[u32]) {
        self.for_each_bit(nodes, self.host.slurmctld.call.bit_clear);
    }

    /// Adds nodes of these numbers, which were left out, to the nodes to choose from again.
    pub fn put_back(&mut self, nodes: &[u32]) {
        self.for_each_bit(nodes, self.host.slurmctld.call.bit_set);
    }

    /// Clears or sets the bits of these nodes, as far as the bitmap has them.
    fn for_each_bit(&mut self, nodes: &[u32], change: unsafe extern "C" fn(*mut c_void, i64)) {
        // SAFETY: job and node write lock; the bitmap of this test.
        let size = unsafe { (self.host.slurmctld.call.bit_size)(self.raw.nodes) };
        for node in nodes.iter().map(|node| i64::from(*node)).filter(|node| *node < size) {
            // SAFETY: job and node write lock; the bitmap of this test, which the selector may change, and a
            // number below its size.
            unsafe { change(self.raw.nodes, node) };
        }
    }

    /// Makes backfill keep no node for the job, because the job waits for something else.
    pub fn keep_no_node(&mut self) {
        // SAFETY: job and node write lock; the bitmap of this test, which Slurm reads when we return.
        unsafe { (self.host.slurmctld.call.bit_clear_all)(self.raw.nodes) };
    }

    /// The time before which the job shall not be expected to start, in seconds since the Unix epoch (24.11
    /// and later).
    pub fn not_before(&self) -> Option<i64> {
        // SAFETY: job and node write lock; the time of this test.
        let start = unsafe { self.start()?.read() };
        (start > 0).then_some(start)
    }

    /// Lets the job be expected at any time.
    pub fn forget_not_before(&mut self) {
        if let Some(start) = self.start() {
            // SAFETY: job and node write lock; the time of this test, which Slurm sets before each test.
            unsafe { start.write(0) };
        }
    }

    /// The first member of `will_run_data_t`, the time `start`, in each release that has it.
    fn start(&self) -> Option<NonNull<i64>> {
        NonNull::new(self.raw.will_run).filter(|_| is_since(24, 11)).map(NonNull::cast)
    }
}
