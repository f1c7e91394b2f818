//! The launch gate keeps a job CONFIGURING, and the completion gate keeps it COMPLETING: raising and opening
//! them.

use slurm_release as facts;

use crate::job::JobMut;
use crate::locks::{LockPermit, Locked};

impl JobMut<'_> {
    /// Holds the job in CONFIGURING until the gate is opened; see [`Locked::open_launch_gate`].
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
        self.record().write(self.layout().job_record.job_state, state);
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
            self.record().write(layout.job_record.job_state, state);
        }
    }

    /// Holds the job in COMPLETING until the gate is opened; see [`LockPermit::open_completion_gate`].
    pub fn raise_completion_gate(&mut self) {
        let job = &self.layout().job_record;
        let count = self.record().read(job.prep_epilog_cnt);
        self.record().write(job.prep_epilog_cnt, count.saturating_add(1));
        // SAFETY: under the job write lock; a C bool, set to true.
        unsafe { self.record().member(job.epilog_running).cast::<bool>().write(true) };
    }

    /// Has Slurm launch no batch script when it finds the job ready; what [`JobMut::is_batch_job_again`]
    /// needs. Under the same lock it has to be taken back.
    fn pass_for_no_batch_job(&mut self) -> u16 {
        let field = self.layout().job_record.batch_flag;
        let flag = self.record().read(field);
        self.record().write(field, 0);
        flag
    }

    /// Undoes [`JobMut::pass_for_no_batch_job`].
    fn is_batch_job_again(&mut self, flag: u16) {
        self.record().write(self.layout().job_record.batch_flag, flag);
    }

    /// Has a job end that was launched at that time, with that many seconds to run.
    fn end_as_launched(&mut self, at: i64, time_limit: i64) {
        if self.is_running() && !self.is_configuring() && time_limit > 0 {
            self.record().write(self.layout().job_record.end_time, at.saturating_add(time_limit));
        }
    }
}

impl Locked<'_> {
    /// Opens the launch gate that [`JobMut::raise_launch_gate`] raised; a batch script starts at once.
    pub fn open_launch_gate(&mut self, job: u32) {
        if let Some(job) = self.find(job) {
            // SAFETY: job write, node write, conf, part and fed read locks are held (WRITE_JOBS).
            unsafe { (self.host.slurmctld.call.prolog_running_decr)(job.record().address()) };
            // Slurm saves a job when it gets its nodes, not when it is launched later: for minutes a crash
            // would bring it back as CONFIGURING, to be launched once more.
            // SAFETY: takes its own mutex only and returns at once.
            unsafe { (self.host.slurmctld.call.schedule_job_save)() };
        }
    }

    /// Opens the launch gate of a job whose batch script an earlier slurmctld launched `at` that time, and
    /// had not saved that: its node would refuse to run it twice, and be drained for it. Should its node
    /// never have heard of it, Slurm finds that out when the node registers, and puts the job back into the
    /// queue.
    pub fn open_launch_gate_of_launched(&mut self, job: u32, at: i64) {
        let Some(mut record) = self.job(job) else { return };
        let time_limit = record.end_time() - record.start_time();
        let batch_flag = record.pass_for_no_batch_job();
        self.open_launch_gate(job);
        if let Some(mut record) = self.job(job) {
            record.is_batch_job_again(batch_flag);
            record.end_as_launched(at, time_limit);
        }
    }
}

impl LockPermit {
    /// Opens the completion gate that [`JobMut::raise_completion_gate`] raised: the job may leave COMPLETING.
    pub fn open_completion_gate(&mut self, job: u32) {
        // SAFETY: takes its own locks; none is held, as a `Locked` borrows this value.
        unsafe { (self.host.slurmctld.call.prep_epilog_slurmctld_callback)(0, job, false) };
    }
}
