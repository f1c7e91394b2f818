//! Changing a job record.

use std::ffi::c_void;
use std::ops::Deref;
use std::time::Duration;

use slurm_release as facts;
use slurm_release::{Field, Text};

use super::JobRef;
use crate::symbols::RawJob;
use crate::text::c_string;

/// How far ahead [`JobMut::begin_soon`] lies.
pub const BEGIN_SOON: Duration = Duration::from_secs(2);

/// A job record under the job write lock.
pub struct JobMut<'lock>(JobRef<'lock>);

impl<'lock> Deref for JobMut<'lock> {
    type Target = JobRef<'lock>;
    fn deref(&self) -> &JobRef<'lock> {
        &self.0
    }
}

impl<'lock> JobMut<'lock> {
    /// The job of a select callback that runs under the job write lock (job_begin, job_fini, job_test,
    /// reconfigure).
    ///
    /// # Safety
    /// As [`JobRef::from_callback`], and slurmctld holds the job write lock.
    #[must_use]
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe { JobRef::from_callback(job) }.map(Self)
    }

    /// The same, for an element of `job_list`.
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

    /// Holds the job in CONFIGURING until the gate is opened; see [`crate::locks::Locked::open_launch_gate`].
    ///
    /// In job_begin and at adoption after a restart only.
    pub fn raise_launch_gate(&mut self) {
        let layout = self.layout();
        let Some(details) = self.details() else { return };
        let field = layout.job_details.prolog_running;
        details.write(field, details.read(field).saturating_add(1));
        // A suspended job has forgotten that it is CONFIGURING, in Slurm's own code as well.
        if !self.is_suspended() {
            self.configure_again();
        }
    }

    /// Has a job that was suspended while its launch gate was raised, and resumed, be CONFIGURING again:
    /// Slurm has forgotten that, and launches nobody else when the gate is opened. To be called right before
    /// that.
    pub fn configure_again(&mut self) {
        let state = self.state() | facts::JOB_CONFIGURING;
        self.record.write(self.layout().job_record.job_state, state);
    }

    /// Undoes [`JobMut::raise_launch_gate`] in the same job_begin, for a job that stays pending; nothing
    /// where it was not raised.
    pub fn take_back_launch_gate(&mut self) {
        let layout = self.layout();
        let Some(details) = self.details() else { return };
        if !self.is_pending() || !self.is_configuring() {
            return;
        }
        let field = layout.job_details.prolog_running;
        let others = details.read(field).saturating_sub(1);
        details.write(field, others);
        // Before job_begin returns, a burst buffer alone can have made it CONFIGURING too, with a count of
        // its own.
        if others == 0 {
            let state = self.state() & !facts::JOB_CONFIGURING;
            self.record.write(layout.job_record.job_state, state);
        }
    }

    /// Holds the job in COMPLETING until the gate is opened; see
    /// [`crate::locks::HostThread::open_completion_gate`].
    pub fn raise_completion_gate(&mut self) {
        let job = &self.layout().job_record;
        let count = self.record.read(job.prep_epilog_cnt);
        self.record.write(job.prep_epilog_cnt, count.saturating_add(1));
        // SAFETY: under the job write lock; a C bool, set to true.
        unsafe { self.record.member(job.epilog_running).cast::<bool>().write(true) };
    }

    /// Lets a job that is being requeued start again as soon as it may, when this run was never launched.
    ///
    /// Slurm keeps a requeued job waiting for two minutes, until no node knows credentials of the run
    /// before any more, unless the job's begin time lies ahead anyway. No node has one of a run that never
    /// was launched. To be called right before the completion gate is opened.
    pub fn begin_soon(&mut self) {
        let Some(details) = self.details() else { return };
        let field = self.layout().job_details.begin_time;
        // SAFETY: time has no preconditions.
        let soon = unsafe { libc::time(std::ptr::null_mut()) } + BEGIN_SOON.as_secs().cast_signed();
        details.write(field, details.read(field).max(soon));
    }

    /// Says whether Slurm may requeue it.
    pub(crate) fn allow_requeue(&mut self, allowed: bool) {
        if let Some(details) = self.details() {
            details.write(self.layout().job_details.requeue, allowed.into());
        }
    }

    /// Has a job that was launched late end by its deadline. Slurm cuts the time limit of a job to that when
    /// it gets its nodes, and lets it count from the launch on.
    pub fn end_by_deadline(&mut self) {
        let is_launched = self.is_running() && !self.is_configuring();
        if let Some(deadline) = self.deadline().filter(|deadline| is_launched && *deadline < self.end_time())
        {
            self.record.write(self.layout().job_record.end_time, deadline);
        }
    }

    /// Has Slurm launch no batch script when it finds the job ready; what [`JobMut::is_batch_job_again`]
    /// needs. Under the same lock it has to be taken back.
    pub(crate) fn pass_for_no_batch_job(&mut self) -> u16 {
        let field = self.layout().job_record.batch_flag;
        let flag = self.record.read(field);
        self.record.write(field, 0);
        flag
    }

    /// Undoes [`JobMut::pass_for_no_batch_job`].
    pub(crate) fn is_batch_job_again(&mut self, flag: u16) {
        self.record.write(self.layout().job_record.batch_flag, flag);
    }

    /// Has a job end that was launched at that time, with that many seconds to run.
    pub(crate) fn end_as_launched(&mut self, at: i64, time_limit: i64) {
        if self.is_running() && !self.is_configuring() && time_limit > 0 {
            self.record.write(self.layout().job_record.end_time, at.saturating_add(time_limit));
        }
    }

    /// Says when a pending job is expected to start, in seconds since the Unix epoch; after a WILL_RUN test
    /// only.
    pub fn expect_start(&mut self, time: i64) {
        self.record.write(self.layout().job_record.start_time, time);
    }

    /// Gives back what the stock selector has chosen for a start that is refused after all. Slurm does the
    /// same where an account's limit refuses one (`select_nodes` in node_scheduler.c, 22.05 to 26.05), and
    /// nothing else. Until the next start is tried it would be shown and saved as the job's; where the cons
    /// selectors are asked more, they free it.
    ///
    /// After a RUN_NOW test that said yes only.
    pub fn give_up_resources(&mut self) {
        let resources = self.record.member(self.layout().job_record.job_resrcs);
        // SAFETY: under the job write lock; the member is NULL or what the selector made, which Slurm's own
        // function frees, and sets the member to NULL.
        unsafe { (self.host.slurmctld.call.free_job_resources)(resources.cast()) };
    }

    /// Sets the text squeue shows as the reason.
    pub fn set_reason(&mut self, text: &str) {
        self.set_text(self.layout().job_record.state_desc, text);
    }

    /// Leaves the reason to its name.
    pub fn clear_reason(&mut self) {
        self.clear_text(self.layout().job_record.state_desc);
    }

    /// Shows no text any more for a job that waits in line, and that it waits for its turn: what name the
    /// reason had, Slurm has from the code by which the job was refused ([`crate::differences::refusal`]), as
    /// that it waits for a licence.
    pub fn wait_for_its_turn(&mut self) {
        self.record.write(self.layout().job_record.state_reason, facts::WAIT_PRIORITY);
        self.clear_reason();
    }

    /// Appends to `system_comment`, which `scontrol show job` and squeue show, what it does not say yet.
    pub fn add_system_comment(&mut self, text: &str) {
        let field = self.layout().job_record.system_comment;
        let all = match self.record.text(field) {
            Some(earlier) if earlier.contains(text) => return,
            Some(earlier) => format!("{earlier}; {text}"),
            None => text.to_owned(),
        };
        self.set_text(field, &all);
    }

    /// The same, in the place of all that it says already and that is superseded by this.
    pub fn replace_in_system_comment(&mut self, text: &str, is_superseded: impl Fn(&str) -> bool) {
        const BETWEEN: &str = "; ";
        let field = self.layout().job_record.system_comment;
        let earlier = self.record.text(field).unwrap_or_default();
        let stays = |part: &&str| !part.is_empty() && *part != text && !is_superseded(part);
        let parts: Vec<_> = earlier.split(BETWEEN).filter(stays).chain([text]).collect();
        self.set_text(field, &parts.join(BETWEEN));
    }

    fn set_text(&mut self, field: Field<Text>, text: &str) {
        self.clear_text(field);
        let text = c_string(text);
        let member: *mut *mut c_void = self.record.member(field).cast();
        // SAFETY: under the job write lock; xstrdup's result is of Slurm's allocator, as the member's is to
        // be.
        unsafe { member.write((self.host.slurmctld.call.xstrdup)(text.as_ptr()).cast()) };
    }

    fn clear_text(&mut self, field: Field<Text>) {
        let member: *mut *mut c_void = self.record.member(field).cast();
        // SAFETY: under the job write lock; the member is NULL or memory of Slurm's allocator, which
        // xfree takes back and sets to NULL.
        unsafe { (self.host.slurmctld.call.xfree)(member) };
        self.touch();
    }

    /// Lets clients see that the job changed.
    fn touch(&mut self) {
        // SAFETY: job write lock, which guards last_job_update; time has no preconditions.
        unsafe { self.host.slurmctld.var.last_job_update.set(libc::time(std::ptr::null_mut())) };
    }
}
