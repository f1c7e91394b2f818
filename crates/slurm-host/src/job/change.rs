//! Changes a job record.

use std::ffi::c_void;
use std::ops::Deref;
use std::time::Duration;

use slurm_release as facts;
use slurm_release::{Field, Text};

use super::JobRef;
use crate::symbols::RawJob;

/// A job record under the job write lock.
pub struct JobMut<'lock>(JobRef<'lock>);

impl<'lock> Deref for JobMut<'lock> {
    type Target = JobRef<'lock>;
    fn deref(&self) -> &JobRef<'lock> {
        &self.0
    }
}

impl<'lock> JobMut<'lock> {
    /// Returns the job of a select callback that runs under the job write lock (job_begin, job_fini,
    /// job_test, reconfigure).
    ///
    /// # Safety
    /// As [`JobRef::from_callback`], and slurmctld holds the job write lock.
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe { JobRef::from_callback(job) }.map(Self)
    }

    /// Returns the job in an element of `job_list`.
    ///
    /// # Safety
    /// As [`Self::from_callback`].
    pub(crate) unsafe fn from_list(job: RawJob) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe { JobRef::from_list(job) }.map(Self)
    }

    pub(crate) fn new(job: JobRef<'lock>) -> Self {
        Self(job)
    }

    /// Lets a job that is being requeued start again after `delay`, at least two seconds, or at its begin time
    /// if that is later. To be called right before the completion gate is opened.
    ///
    /// Slurm keeps a requeued job waiting for two minutes, until no node knows credentials of the earlier run
    /// any more, unless the job's begin time lies ahead. A node refuses a credential only if it is not newer
    /// than the end of the earlier run, in whole seconds (`slurm_cred_revoked`, 22.05 to 26.05).
    pub fn begin_soon(&mut self, delay: Duration) {
        // SAFETY: time has no preconditions.
        let soon = unsafe { libc::time(std::ptr::null_mut()) } + delay.as_secs().cast_signed();
        self.begin_at(self.begin_time().max(soon));
    }

    /// Sets the time before which the job must not start (`begin_time`), in seconds since the Unix epoch.
    pub(crate) fn begin_at(&mut self, time: i64) {
        if let Some(details) = self.details() {
            details.write(self.layout().job_details.begin_time, time);
        }
    }

    /// Counts a run that Slurm has forgotten: the next run of the job is a restart.
    pub fn count_restart(&mut self) {
        let field = self.layout().job_record.restart_cnt;
        self.record.write(field, self.record.read(field).saturating_add(1));
        self.touch();
    }

    /// Splits this task off the job array whose record this is, as a start of the task does. The record is that of the
    /// task from then on, with an id of its own; the other tasks have a new record with the earlier id. The last task
    /// keeps the id.
    pub fn split_off(&mut self, task: u32) {
        self.record.write(self.layout().job_record.array_task_id, task);
        // SAFETY: under the job and node write locks; the record is a job array's that has this task left.
        unsafe { (self.host.slurmctld.call.job_array_post_sched)(self.record.address(), true) };
        self.touch();
    }

    /// Lets Slurm choose the node of the batch script anew. A slurmctld that restarts between a requeue and the end of
    /// its cleaning leaves the node of the earlier run in the record (`batch_requeue_fini`).
    pub fn forget_batch_host(&mut self) {
        self.clear_text(self.layout().job_record.batch_host);
    }

    /// Holds a job in line until its user or an administrator releases it.
    pub fn hold(&mut self) {
        self.record.write(self.layout().job_record.priority, 0);
        self.record.write(self.layout().job_record.state_reason, facts::WAIT_HELD_USER);
        self.touch();
    }

    /// Sets whether Slurm may requeue the job.
    pub(crate) fn allow_requeue(&mut self, allowed: bool) {
        if let Some(details) = self.details() {
            details.write(self.layout().job_details.requeue, allowed.into());
        }
    }

    /// Makes a job that was launched late end by its deadline. Slurm cuts a job's time limit to the deadline
    /// when the job gets its nodes, but counts the limit from the launch on.
    pub fn end_by_deadline(&mut self) {
        let is_launched = self.is_running() && !self.is_configuring();
        if let Some(deadline) = self.deadline().filter(|deadline| is_launched && *deadline < self.end_time())
        {
            self.record.write(self.layout().job_record.end_time, deadline);
        }
    }

    /// Sets the expected start of a pending job, in seconds since the Unix epoch; only after a WILL_RUN test.
    pub fn expect_start(&mut self, time: i64) {
        self.record.write(self.layout().job_record.start_time, time);
    }

    /// Sets the expected start of each component of its heterogeneous job that would start earlier. See
    /// [`Self::expect_start`].
    pub fn expect_start_of_components(&mut self, time: i64) {
        let earlier = |component: &JobRef<'_>| component.is_pending() && component.start_time() < time;
        for component in self.components().into_iter().filter(earlier) {
            JobMut::new(component).expect_start(time);
        }
    }

    /// Gives back the resources that the stock selector chose for a start that is refused after all. Slurm
    /// does the same, and nothing else, where an account's limit refuses a start (`select_nodes` in
    /// node_scheduler.c, 22.05 to 26.05). Otherwise Slurm would show and save them as the job's until it
    /// tries the next start. The cons selectors free them if they are asked again.
    ///
    /// Only after a RUN_NOW test that said yes.
    pub fn give_up_resources(&mut self) {
        let resources = self.record.member(self.layout().job_record.job_resrcs);
        // SAFETY: under the job write lock; the member is NULL or made by the selector. Slurm's own function
        // frees it and sets the member to NULL.
        unsafe { (self.host.slurmctld.call.free_job_resources)(resources.cast()) };
    }

    /// Sets the text that squeue shows as the reason.
    pub fn set_reason(&mut self, text: &str) {
        self.set_text(self.layout().job_record.state_desc, text);
    }

    /// Clears the text of the reason; squeue then shows the reason's name.
    pub fn clear_reason(&mut self) {
        self.clear_text(self.layout().job_record.state_desc);
    }

    /// Shows a job in line as waiting for its turn, without a text. Slurm took the earlier reason, for
    /// example a missing licence, from the code that refused the job ([`crate::differences::refused_start`]).
    pub fn wait_for_its_turn(&mut self) {
        self.record.write(self.layout().job_record.state_reason, facts::WAIT_PRIORITY);
        self.clear_reason();
    }

    /// Appends a text to `system_comment`, in place of the parts with this beginning. `scontrol show job` and squeue show
    /// this member. Slurm's burst buffers append lines to it.
    pub fn replace_in_system_comment(&mut self, beginning: &str, text: &str) {
        const BETWEEN: &str = "; ";
        let field = self.layout().job_record.system_comment;
        let earlier = self.record.text(field).unwrap_or_default();
        let parts = earlier.split(BETWEEN).flat_map(str::lines);
        let others = parts.filter(|part| !part.is_empty() && !part.starts_with(beginning));
        let text = text.replace(BETWEEN, ", ");
        self.set_text(field, &others.chain([&*text]).collect::<Vec<_>>().join(BETWEEN));
    }

    fn set_text(&mut self, field: Field<Text>, text: &str) {
        // SAFETY: under the job write lock; the member is NULL or memory of Slurm's allocator.
        unsafe { self.host.replace_text(self.record.member(field).cast(), text) };
        self.touch();
    }

    fn clear_text(&mut self, field: Field<Text>) {
        let member: *mut *mut c_void = self.record.member(field).cast();
        // SAFETY: under the job write lock; the member is NULL or memory of Slurm's allocator, which xfree
        // takes back; xfree sets the member to NULL.
        unsafe { (self.host.slurmctld.call.xfree)(member) };
        self.touch();
    }

    /// Lets clients see that the job changed.
    fn touch(&mut self) {
        // SAFETY: job write lock, which guards last_job_update; time has no preconditions.
        unsafe { self.host.slurmctld.var.last_job_update.set(libc::time(std::ptr::null_mut())) };
    }
}
