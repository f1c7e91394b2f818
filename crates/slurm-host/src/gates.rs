//! Raises and opens the gates: the launch gate keeps a job CONFIGURING, the completion gate keeps it
//! COMPLETING.

use slurm_release as facts;

use crate::job::JobMut;
use crate::locks::{LockPermit, Locked};

impl JobMut<'_> {
    /// Holds the job in CONFIGURING until the gate is opened; see [`Locked::open_launch_gate`].
    ///
    /// Only in job_begin and at adoption after a restart.
    pub fn raise_launch_gate(&mut self) {
        let layout = self.layout();
        let Some(details) = self.details() else { return };
        let field = layout.job_details.prolog_running;
        details.write(field, details.read(field).saturating_add(1));
        // A suspended job is not CONFIGURING any more, in Slurm's own code as well.
        if !self.is_suspended() {
            self.configure_again();
        }
    }

    /// Makes a job CONFIGURING again that was suspended while its launch gate was raised, and resumed. Slurm
    /// has cleared the flag, and launches no job without it when the gate is opened. To be called right
    /// before the gate is opened.
    pub fn configure_again(&mut self) {
        let state = self.state() | facts::JOB_CONFIGURING;
        self.record().write(self.layout().job_record.job_state, state);
    }

    /// Undoes [`JobMut::raise_launch_gate`] in the same job_begin, for a job that stays pending. Does nothing
    /// if the gate was not raised.
    pub fn take_back_launch_gate(&mut self) {
        let layout = self.layout();
        let Some(details) = self.details() else { return };
        if !self.is_pending() || !self.is_configuring() {
            return;
        }
        let field = layout.job_details.prolog_running;
        let others = details.read(field).saturating_sub(1);
        details.write(field, others);
        // Before job_begin returns, only a burst buffer can also have made the job CONFIGURING, with a count
        // of its own.
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

    /// Makes Slurm launch no batch script when it finds the job ready. [`JobMut::is_batch_job_again`] has to
    /// undo the change under the same lock, with the returned flag.
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

    /// Sets the end of a job that was launched at the time `at`, with `time_limit` seconds to run.
    fn end_as_launched(&mut self, at: i64, time_limit: i64) {
        if self.is_running() && !self.is_configuring() && time_limit > 0 {
            self.record().write(self.layout().job_record.end_time, at.saturating_add(time_limit));
        }
    }
}

impl Locked<'_> {
    /// Opens the launch gate that [`JobMut::raise_launch_gate`] raised. A batch script starts at once.
    pub fn open_launch_gate(&mut self, job: u32) {
        if let Some(mut job) = self.job(job).filter(|job| job.is_running() && job.is_batch()) {
            job.forget_script();
        }
        self.lower_launch_gate(job);
    }

    fn lower_launch_gate(&mut self, job: u32) {
        if let Some(job) = self.find(job) {
            // SAFETY: job write, node write, conf, part and fed read locks are held (WRITE_JOBS).
            unsafe { (self.host.slurmctld.call.prolog_running_decr)(job.record().address()) };
            // Slurm saves a job when it gets its nodes, not when it is launched later. For minutes, a crash
            // would bring it back as CONFIGURING, to be launched once more.
            // SAFETY: takes its own mutex only and returns at once.
            unsafe { (self.host.slurmctld.call.schedule_job_save)() };
        }
    }

    /// Opens the launch gate of a job whose batch script an earlier slurmctld launched at the time `at`
    /// without saving the launch. The job's node would refuse to run the script twice, and would be drained
    /// for it.
    pub fn open_launch_gate_of_launched(&mut self, job: u32, at: i64) {
        let Some(mut record) = self.job(job) else { return };
        let time_limit = record.end_time() - record.start_time();
        record.expect_end_of_script();
        let batch_flag = record.pass_for_no_batch_job();
        self.lower_launch_gate(job);
        if let Some(mut record) = self.job(job) {
            record.is_batch_job_again(batch_flag);
            record.end_as_launched(at, time_limit);
        }
    }

    /// Launches the script of a running batch job whose launch an earlier slurmctld did not send any more.
    pub fn launch_again(&mut self, job: u32) {
        if let Some(mut record) = self.job(job) {
            record.raise_launch_gate();
            self.open_launch_gate(job);
        }
    }
}

impl LockPermit {
    /// Opens the completion gate that [`JobMut::raise_completion_gate`] raised. The job may then leave
    /// COMPLETING.
    pub fn open_completion_gate(&mut self, job: u32) {
        // SAFETY: takes its own locks; none is held, because a `Locked` borrows this value.
        unsafe { (self.host.slurmctld.call.prep_epilog_slurmctld_callback)(0, job, false) };
    }
}
