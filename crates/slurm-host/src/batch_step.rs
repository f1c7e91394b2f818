//! The record of a job's batch step.
//!
//! Slurm makes it when it launches the script. With slurmdbd it takes the end of the script only if there is one
//! (`_slurm_rpc_complete_batch_script`, 22.05 to 26.05).

use std::ptr::NonNull;

use crate::job::{JobMut, JobRef};
use crate::record::{Record, list_items};

/// `SLURM_BATCH_SCRIPT`, the number of the step in every release.
const BATCH: u32 = 0xffff_fffb;

impl JobRef<'_> {
    /// The job, or the leader of its heterogeneous job, which has the batch script.
    fn with_script(self) -> Self {
        if self.het_job() == 0 { self } else { self.other(self.het_job()).unwrap_or(self) }
    }

    /// The record of the batch step, if the job has one.
    fn batch_step(self) -> Option<Record<'static>> {
        let (call, layout) = (&self.host().slurmctld.call, self.layout());
        let steps = self.record().pointer(layout.job_record.step_list);
        // SAFETY: under the job lock; the job's list of step records.
        let steps = unsafe { list_items(call.list_for_each, steps) }.unwrap_or_default();
        // SAFETY: items of that list, under the job lock as long as the caller's view.
        let mut steps = steps.into_iter().map(|step: NonNull<_>| unsafe { Record::new(step) });
        steps.find(|step| step.read(layout.step_record.step_id_step_id) == BATCH)
    }
}

impl JobMut<'_> {
    /// Lets Slurm take the end of a batch script that an earlier slurmctld launched, or may have launched. The job has
    /// the node of its script from then on: 26.05 chooses it at the launch, and every release in one way.
    pub fn expect_end_of_script(&mut self) {
        let job = self.with_script();
        // SAFETY: under the job and node write locks; sets batch_host if it is NULL.
        unsafe { (self.host().slurmctld.call.pick_batch_host)(job.record().address()) };
        if job.batch_host().is_none() {
            return;
        }
        // Slurm tells slurmdbd of the step, and cannot before it has a connection.
        if job.batch_step().is_none() && crate::accounting::is_in_use() {
            // SAFETY: under the job write lock; makes the step's record and sends it to slurmdbd's agent.
            unsafe { (self.host().slurmctld.call.build_batch_step)(self.record().address()) };
        }
    }

    /// Undoes [`Self::expect_end_of_script`], for a script that is about to be launched.
    pub(crate) fn forget_script(&mut self) {
        let job = self.with_script();
        if let Some(step) = job.batch_step() {
            // SAFETY: under the job write lock; a step of this job's list.
            unsafe {
                (self.host().slurmctld.call.delete_step_record)(job.record().address(), step.address())
            };
        }
    }
}
