//! slurmctld's locks, for the one thread that may take them.
//!
//! A select callback already runs under the locks. If it took them again, slurmctld would stop for good.
//! Locking therefore needs the one [`LockPermit`], which stays in a thread of its own; callbacks get none.

use std::marker::PhantomData;
use std::ptr::NonNull;

use failpoints::NoIo;
use slurm_release as facts;
use vipu_types::Words;

use crate::differences::Locks;
use crate::job::{JobMut, JobRef};
use crate::node_table::{self, Askable};
use crate::record::{Record, c_string, list_items};
use crate::reservations::{self, Reservation};
use crate::slurmctld::{Host, host};
use crate::symbols::RawJob;

const NONE: Locks = Locks {
    conf: facts::NO_LOCK,
    job: facts::NO_LOCK,
    node: facts::NO_LOCK,
    part: facts::NO_LOCK,
    fed: facts::NO_LOCK,
    select_node: facts::NO_LOCK,
};

/// Write access to jobs and nodes, read access to the rest. `prolog_running_decr`, requeue and job completion
/// need it.
const WRITE_JOBS: Locks = Locks {
    conf: facts::READ_LOCK,
    job: facts::WRITE_LOCK,
    node: facts::WRITE_LOCK,
    part: facts::READ_LOCK,
    fed: facts::READ_LOCK,
    ..NONE
};

/// Read access to jobs, and to the partitions to which they point.
const READ_JOBS: Locks = Locks { job: facts::READ_LOCK, part: facts::READ_LOCK, ..NONE };

/// Read access to jobs and nodes, and to the partitions to which they point.
const READ_JOBS_AND_NODES: Locks = Locks { node: facts::READ_LOCK, ..READ_JOBS };

/// Read access to slurm.conf's values.
const READ_CONF: Locks = Locks { conf: facts::READ_LOCK, ..NONE };

/// Read access to slurm.conf's values and to nodes, with their reservations.
const READ_NODES: Locks = Locks { node: facts::READ_LOCK, ..READ_CONF };

/// The right to take slurmctld's locks. It cannot leave the thread for which it was made.
pub struct LockPermit {
    pub(crate) host: &'static Host,
    stays: PhantomData<*const ()>,
}

impl LockPermit {
    /// Starts the thread that may take locks, and runs `body` on it.
    ///
    /// # Errors
    /// Outside slurmctld, or if no thread can be started.
    pub fn spawn(name: &str, body: impl FnOnce(LockPermit) + Send + 'static) -> Result<(), Words> {
        let host = host()?;
        crate::threads::spawn(name, move || body(LockPermit { host, stays: PhantomData }))
    }

    /// Takes the job write lock. Waits while a scheduling pass holds it.
    pub fn write(&mut self) -> Locked<'_> {
        Locked::take(self, WRITE_JOBS)
    }

    /// Calls `see` for each job under the job and node read locks. A job that Slurm does not have gives `None`.
    pub fn look_at<R>(&mut self, jobs: &[u32], see: impl Fn(JobRef<'_>) -> R) -> Vec<Option<R>> {
        let locked = Locked::take(self, READ_JOBS_AND_NODES);
        jobs.iter().map(|job| locked.find(*job).map(&see)).collect()
    }

    /// The ids of the pending jobs that ask for IPUs.
    pub fn pending_with_ipus(&mut self) -> Vec<u32> {
        let locked = Locked::take(self, READ_JOBS);
        let slurmctld = &locked.host.slurmctld;
        // SAFETY: job read lock; job_list is NULL or Slurm's list of job records.
        let listed = unsafe { list_items(slurmctld.call.list_for_each, slurmctld.var.job_list.get()) };
        // SAFETY: elements of job_list, under the job read lock as long as `locked`.
        let jobs = listed.into_iter().flatten().filter_map(|job| unsafe { JobRef::from_list(job.as_ptr()) });
        jobs.filter(|job| job.is_pending() && job.mentions_vipu()).map(JobRef::id).collect()
    }

    /// The licences that the cluster has, as `Licenses` in slurm.conf, and the reservations of licences.
    pub fn licenses(&mut self) -> (Option<String>, Vec<Reservation>) {
        let locked = Locked::take(self, READ_NODES);
        // SAFETY: node read lock.
        (crate::conf::licenses(), unsafe { reservations::of_licenses(locked.host) })
    }

    /// Looks which of these nodes may be asked for the jobs that run there ([`crate::running_jobs::on`]).
    pub fn askable(&mut self, nodes: &[String]) -> Askable {
        let locked = Locked::take(self, READ_NODES);
        // SAFETY: node read lock.
        unsafe { crate::node_table::askable(locked.host, nodes) }
    }

    /// Makes the main scheduler look at the queue now, or soon if the site wants passes deferred.
    pub fn kick_scheduler(&mut self) {
        let deferred = {
            let _locked = Locked::take(self, READ_CONF);
            crate::conf::scheduling_is_deferred()
        };
        let call = &self.host.slurmctld.call;
        // SAFETY: both functions take only their own mutex and return at once; no lock is held.
        unsafe { if deferred { (call.queue_job_scheduler)() } else { (call.schedule)(false) } };
    }
}

/// slurmctld's locks, held until the value is dropped.
pub struct Locked<'thread> {
    pub(crate) host: &'static Host,
    locks: Locks,
    thread: PhantomData<&'thread mut LockPermit>,
    _no_io: NoIo,
}

impl<'thread> Locked<'thread> {
    fn take(thread: &'thread mut LockPermit, locks: Locks) -> Self {
        // SAFETY: this thread holds no lock, because each lock borrows its LockPermit.
        unsafe { (thread.host.slurmctld.call.lock)(locks) };
        Self { host: thread.host, locks, thread: PhantomData, _no_io: NoIo::new() }
    }

    pub(crate) fn find(&self, job: u32) -> Option<JobRef<'_>> {
        // SAFETY: at least the job read lock is held (`take`).
        self.found(unsafe { (self.host.slurmctld.call.find_job_record)(job) })
    }

    fn found(&self, record: RawJob) -> Option<JobRef<'_>> {
        let record = NonNull::new(record)?;
        // SAFETY: a live job_record_t, under the lock as long as `self`.
        let job = JobRef::new(unsafe { Record::new(record) }, self.host);
        crate::selfcheck::job_is_as_expected(job).then_some(job)
    }

    /// Returns the job with this id, if Slurm has one.
    pub fn job(&mut self, job: u32) -> Option<JobMut<'_>> {
        self.find(job).map(JobMut::new)
    }

    /// Returns the record of a task of a job array, or of the array if the task is not split off from it yet.
    pub fn task(&mut self, array: u32, task: u32) -> Option<JobMut<'_>> {
        // SAFETY: the job write lock is held (WRITE_JOBS).
        self.found(unsafe { (self.host.slurmctld.call.find_job_array_rec)(array, task) }).map(JobMut::new)
    }

    /// Has Slurm give no id again that was given. After a kill it counts from its last save on.
    pub fn pass_over_ids(&mut self, given: &[u32]) {
        /// The most ids that an earlier slurmctld may have given since its last save. Others are older: Slurm begins anew
        /// behind `MaxJobId`.
        const MOST: u32 = 10_000;
        // SAFETY: the locks of WRITE_JOBS are held.
        let next = |is_test| unsafe { (self.host.slurmctld.call.get_next_job_id)(is_test) };
        let first = next(true);
        let ahead = first..first.saturating_add(MOST);
        let Some(last) = given.iter().copied().filter(|id| ahead.contains(id)).max() else { return };
        let mut taken = first.saturating_sub(1);
        // The next one is lower behind `MaxJobId`.
        while (taken + 1..=last).contains(&next(true)) {
            taken = next(false);
        }
    }

    /// Puts a batch job back into the queue, held or not. Returns false if the job cannot be requeued.
    pub fn requeue(&mut self, job: u32, held: bool) -> bool {
        let Some(record) = self.find(job) else { return false };
        let requeue = &self.host.slurmctld.requeue;
        let flags = if held { facts::JOB_REQUEUE_HOLD } else { 0 };
        // SAFETY: the locks of WRITE_JOBS are held; the record was found under them.
        unsafe { requeue.call(job, record.record().address(), flags) }
    }

    /// Puts a batch job, or all of a heterogeneous job that is given by its leader, back into the queue. It
    /// begins at `begin` at the earliest, in seconds since the Unix epoch. Returns false if it cannot be requeued.
    pub fn requeue_until(&mut self, job: u32, begin: i64) -> bool {
        let is_back = self.requeue(job, false);
        for id in self.components(job, |_| is_back) {
            if let Some(mut job) = self.job(id) {
                job.begin_at(begin);
            }
        }
        is_back
    }

    /// Puts a batch job whose run was never launched back into the queue, held or not. `--no-requeue` and
    /// `JobRequeue=0` do not count, because they apply to jobs that have run. A heterogeneous job is given by
    /// its leader.
    pub fn send_back(&mut self, job: u32, held: bool) -> bool {
        let unwilling = self.components(job, |job| !job.is_requeue_allowed());
        self.allow_requeue(&unwilling, true);
        let is_back = self.requeue(job, held);
        self.allow_requeue(&unwilling, false);
        is_back
    }

    /// Returns the job, or the components of a heterogeneous job, for which `is_wanted` is true.
    fn components(&self, job: u32, mut is_wanted: impl FnMut(JobRef<'_>) -> bool) -> Vec<u32> {
        let Some(leader) = self.find(job) else { return Vec::new() };
        if leader.het_job() == 0 {
            return is_wanted(leader).then_some(job).into_iter().collect();
        }
        let mut found = Vec::new();
        let mut look = |component: JobMut<'_>| {
            if component.het_job() == job && is_wanted(*component) {
                found.push(component.id());
            }
        };
        // SAFETY: the job write lock is held (WRITE_JOBS).
        let _ = unsafe { for_each_job(&mut look) };
        found
    }

    fn allow_requeue(&mut self, jobs: &[u32], allowed: bool) {
        for id in jobs {
            if let Some(mut job) = self.job(*id) {
                job.allow_requeue(allowed);
            }
        }
    }

    /// Ends a job as FAILED, exit code 1.
    pub fn end_failed(&mut self, job: u32) {
        const EXIT_1: u32 = 1 << 8;
        self.end_with(job, Some(EXIT_1));
    }

    /// Ends a job with this wait status. Without one, it is cancelled.
    pub fn end_with(&mut self, job: u32, status: Option<u32>) {
        let status = status.unwrap_or(facts::NO_VAL);
        if let Some(record) = self.find(job) {
            // SAFETY: the locks of WRITE_JOBS are held; the record was found under them.
            unsafe { self.host.slurmctld.end_job.call(job, record.record().address(), status) };
        }
    }

    /// Has nodes with these names end what they have of a job. A node that has launched the job before does not launch
    /// it again without that (`_launch_job_test` in slurmd, 22.05 to 26.05).
    pub fn end_on_nodes(&mut self, job: u32, names: &[String]) {
        let Some(record) = self.find(job) else { return };
        let name = self.host.layout.node_record.name;
        // SAFETY: the locks of WRITE_JOBS are held.
        for (_, node) in unsafe { node_table::table(self.host) } {
            if node.text(name).is_some_and(|name| names.contains(&name)) {
                // SAFETY: the locks of WRITE_JOBS are held; both records were found under them. The message goes into
                // a queue.
                unsafe {
                    (self.host.slurmctld.call.kill_job_on_node)(record.record().address(), node.address())
                };
            }
        }
    }

    /// Writes a line to the terminal of the job's srun or salloc; a batch job has none.
    pub fn tell_terminal(&mut self, job: u32, line: &str) {
        if self.job(job).is_some_and(|job| !job.is_batch()) {
            self.tell_user(job, line);
        }
    }

    /// Writes a line to the terminal of the job's srun or salloc, or into its batch output.
    pub fn tell_user(&mut self, job: u32, line: &str) {
        if let Some(job) = self.find(job) {
            let line = c_string(line);
            // SAFETY: job write lock held; the message is copied before the call returns.
            unsafe { (self.host.slurmctld.call.srun_user_message)(job.record().address(), line.as_ptr()) };
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: exactly the locks that `take` took, by the same thread (`Locked` is bound to its
        // LockPermit).
        unsafe { (self.host.slurmctld.call.unlock)(self.locks) };
    }
}

/// Calls `visit` with every job. Returns false if a visit panicked or some jobs may have been left out: a job
/// that was not visited may then still exist.
///
/// # Safety
/// The caller holds slurmctld's job write lock.
pub unsafe fn for_each_job(visit: &mut dyn FnMut(JobMut<'_>)) -> bool {
    let Ok(host) = host() else { return false };
    let call = &host.slurmctld.call;
    // SAFETY: job write lock (caller); job_list is NULL or Slurm's list of job records.
    let listed = unsafe { list_items(call.list_for_each, host.slurmctld.var.job_list.get()) };
    let Some(jobs) = listed else { return false };
    let mut is_complete = true;
    for job in jobs {
        // A fault in one visit is no reason to leave out the later jobs.
        is_complete &= crate::boundary::guard(&|| "job list".into(), false, || {
            // SAFETY: an element of job_list under the job write lock.
            if let Some(job) = unsafe { JobMut::from_list(job.as_ptr()) } {
                visit(job);
            }
            true
        });
    }
    is_complete && !crate::selfcheck::is_pass_through()
}
