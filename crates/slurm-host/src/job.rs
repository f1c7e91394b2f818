//! A job record, for as long as a lock protects it.

use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;

use slurm_release as facts;
use slurm_release::{Field, Layout, Text};

use crate::host::{Host, host};
use crate::record::Record;
use crate::symbols::RawJob;
use crate::text::c_string;

/// A job record under at least a job read lock.
#[derive(Clone, Copy)]
pub struct JobRef<'lock> {
    record: Record<'lock>,
    host: &'static Host,
}

/// A job record under the job write lock.
pub struct JobMut<'lock>(JobRef<'lock>);

impl<'lock> JobRef<'lock> {
    /// The job a select callback was given.
    ///
    /// `None` for NULL, outside slurmctld, and when the record does not look as the release says
    /// ([`crate::selfcheck`]): then nothing may be read.
    ///
    /// # Safety
    /// `job` is the `job_record_t *` of a running select callback, and `'lock` ends with that callback:
    /// slurmctld holds at least the job read lock around each.
    #[must_use]
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_record_t under the job lock by the caller's promise.
        let record = unsafe { Record::new(NonNull::new(job)?) };
        let job = Self { record, host };
        crate::selfcheck::job_is_as_expected(job).then_some(job)
    }

    pub(crate) fn new(record: Record<'lock>, host: &'static Host) -> Self {
        Self { record, host }
    }

    pub(crate) fn record(self) -> Record<'lock> {
        self.record
    }

    pub(crate) fn host(self) -> &'static Host {
        self.host
    }

    fn layout(self) -> &'static Layout {
        self.host.layout
    }

    /// `job_id`
    #[must_use]
    pub fn id(self) -> u32 {
        self.record.read(self.layout().job_record.job_id)
    }

    /// `user_id`
    #[must_use]
    pub fn user(self) -> u32 {
        self.record.read(self.layout().job_record.user_id)
    }

    /// `restart_cnt`
    #[must_use]
    pub fn restart_count(self) -> u16 {
        self.record.read(self.layout().job_record.restart_cnt)
    }

    /// `start_time`, in seconds since the Unix epoch
    #[must_use]
    pub fn start_time(self) -> i64 {
        self.record.read(self.layout().job_record.start_time)
    }

    /// `end_time`: when a running job reaches its time limit, in seconds since the Unix epoch
    #[must_use]
    pub fn end_time(self) -> i64 {
        self.record.read(self.layout().job_record.end_time)
    }

    /// The longest it may run once it has begun, in seconds: its time limit, or that of its Slurm partition.
    #[must_use]
    pub fn time_limit(self) -> i64 {
        const YEAR: i64 = 365 * 24 * 3600;
        let of_partition = || self.partition().map(|part| part.read(self.layout().part_record.max_time));
        let is_set = |minutes: &u32| ![facts::NO_VAL, facts::INFINITE].contains(minutes);
        let own = Some(self.record.read(self.layout().job_record.time_limit)).filter(is_set);
        own.or_else(|| of_partition().filter(is_set)).map_or(YEAR, |minutes| i64::from(minutes) * 60)
    }

    /// `priority`; 0 for a job that is held
    #[must_use]
    pub fn priority(self) -> u32 {
        self.record.read(self.layout().job_record.priority)
    }

    /// Whether it asks for an advance reservation: `resv_name`.
    #[must_use]
    pub fn is_in_reservation(self) -> bool {
        !self.record.text_pointer(self.layout().job_record.resv_name).is_null()
    }

    /// `PriorityTier` of the Slurm partition that the job is looked at in.
    #[must_use]
    pub fn priority_tier(self) -> u16 {
        self.partition().map_or(0, |part| part.read(self.layout().part_record.priority_tier))
    }

    /// The name of the Slurm partition that the job runs in, or is looked at in.
    #[must_use]
    pub fn slurm_partition(self) -> Option<String> {
        self.partition()?.text(self.layout().part_record.name)
    }

    /// Tells the Slurm partitions apart that the job is looked at in; of no use once the lock is given up.
    #[must_use]
    pub fn slurm_partition_address(self) -> usize {
        self.partition().map_or(0, |part| part.address().addr())
    }

    fn partition(self) -> Option<Record<'lock>> {
        // SAFETY: whoever changes partitions holds the job write lock too; the self-check looked at the member.
        unsafe { self.record.follow(self.layout().job_record.part_ptr) }
    }

    /// Whether backfill looks for the time when the job can start.
    #[must_use]
    pub fn is_backfill_test(self) -> bool {
        self.has_flag(facts::BACKFILL_TEST)
    }

    /// Whether it is of interest only if the job could start right now.
    #[must_use]
    pub fn is_test_of_now(self) -> bool {
        self.has_flag(facts::TEST_NOW_ONLY)
    }

    fn has_flag(self, flag: u32) -> bool {
        self.record.read(self.layout().job_record.bit_flags) & u64::from(flag) != 0
    }

    /// Whether it was told to make room for another.
    #[must_use]
    pub fn is_being_preempted(self) -> bool {
        self.record.read(self.layout().job_record.preempt_time) != 0
    }

    /// `state_reason`
    #[must_use]
    pub fn state_reason(self) -> u32 {
        self.record.read(self.layout().job_record.state_reason)
    }

    /// Another job, under the same lock.
    #[must_use]
    pub fn other(self, id: u32) -> Option<JobRef<'lock>> {
        // SAFETY: this view stands for at least the job read lock, which find_job_record needs.
        let record = NonNull::new(unsafe { (self.host.slurmctld.call.find_job_record)(id) })?;
        // SAFETY: a live job_record_t under the lock of this view.
        Some(Self { record: unsafe { Record::new(record) }, host: self.host })
    }

    /// The job's GRES request as Slurm keeps it: `tres_per_node`, such as `gres:vipu:pod64:16`.
    #[must_use]
    pub fn tres_per_node(self) -> Option<String> {
        self.record.text(self.layout().job_record.tres_per_node)
    }

    /// Whether `tres_per_node` names `vipu` at all: cheap, for jobs that have nothing to do with us.
    #[must_use]
    pub fn mentions_vipu(self) -> bool {
        let tres = self.record.bytes(self.layout().job_record.tres_per_node);
        tres.is_some_and(|tres| tres.windows(4).any(|word| word == b"vipu"))
    }

    /// Whether a script is to be launched.
    #[must_use]
    pub fn is_batch(self) -> bool {
        self.record.read(self.layout().job_record.batch_flag) != 0
    }

    /// The leader of the heterogeneous job this is a part of, or 0.
    #[must_use]
    pub fn het_job(self) -> u32 {
        self.record.read(self.layout().job_record.het_job_id)
    }

    fn state(self) -> u32 {
        self.record.read(self.layout().job_record.job_state)
    }

    fn base_state(self) -> u32 {
        self.state() & facts::JOB_STATE_BASE
    }

    /// Base state PENDING.
    #[must_use]
    pub fn is_pending(self) -> bool {
        self.base_state() == facts::JOB_PENDING
    }

    /// Base state RUNNING, with or without flags.
    #[must_use]
    pub fn is_running(self) -> bool {
        self.base_state() == facts::JOB_RUNNING
    }

    /// Base state SUSPENDED.
    #[must_use]
    pub fn is_suspended(self) -> bool {
        self.base_state() == facts::JOB_SUSPENDED
    }

    /// CONFIGURING: has its nodes, may not start yet.
    #[must_use]
    pub fn is_configuring(self) -> bool {
        self.state() & facts::JOB_CONFIGURING != 0
    }

    /// COMPLETING: has ended, its nodes or its epilog are not done.
    #[must_use]
    pub fn is_completing(self) -> bool {
        self.state() & facts::JOB_COMPLETING != 0
    }

    /// Waits by its own turn: not held, not behind a dependency or a limit. What for, Slurm may have told from the
    /// code by which it was refused ([`crate::differences::refusal`]); backfill leaves none.
    #[must_use]
    pub fn waits_in_line(self) -> bool {
        let reasons = [
            facts::WAIT_NO_REASON,
            facts::WAIT_RESOURCES,
            facts::WAIT_PRIORITY,
            facts::WAIT_LICENSES,
            facts::WAIT_NODE_NOT_AVAIL,
        ];
        self.is_pending() && self.priority() != 0 && reasons.contains(&self.state_reason())
    }

    /// Whether none of the job's nodes has anything left to do for it.
    #[must_use]
    pub fn nodes_done(self) -> bool {
        let bitmap = self.record.pointer(self.layout().job_record.node_bitmap_cg);
        // SAFETY: under the job lock; a bitmap of the record, which bit_ffs only reads.
        bitmap.is_null() || unsafe { (self.host.slurmctld.call.bit_ffs)(bitmap) } < 0
    }

    /// A variable of the job's supplementary environment (`env_sup`).
    #[must_use]
    pub fn environment(self, name: &str) -> Option<String> {
        self.env_sup().find_map(|slot| value_of(slot, name))
    }

    /// The entries of `env_sup`, each a place that holds a C string.
    fn env_sup(self) -> impl Iterator<Item = *mut *mut c_void> {
        let layout = &self.layout().job_details;
        let array = self.details().map(|details| {
            let array: *mut *mut *mut c_void = details.member(layout.env_sup).cast();
            // SAFETY: under the job lock; a pointer member of the details.
            (unsafe { array.read() }, usize::from(details.read(layout.env_cnt)))
        });
        let (first, count) = array.unwrap_or((std::ptr::null_mut(), 0));
        // SAFETY: env_sup holds env_cnt strings (SAFETY.md, "env_sup").
        (0..count).map(move |i| unsafe { first.add(i) })
    }

    fn details(self) -> Option<Record<'lock>> {
        // SAFETY: `details` is covered by the job lock and is a job_details_t.
        unsafe { self.record.follow(self.layout().job_record.details) }
    }
}

impl<'lock> Deref for JobMut<'lock> {
    type Target = JobRef<'lock>;
    fn deref(&self) -> &JobRef<'lock> {
        &self.0
    }
}

impl<'lock> JobMut<'lock> {
    /// The job of a select callback that runs under the job write lock (job_begin, job_fini, job_test, reconfigure).
    ///
    /// # Safety
    /// As [`JobRef::from_callback`], and slurmctld holds the job write lock.
    #[must_use]
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe { JobRef::from_callback(job) }.map(Self)
    }

    pub(crate) fn new(job: JobRef<'lock>) -> Self {
        Self(job)
    }

    /// Holds the job in CONFIGURING until the gate is opened; see [`crate::locks::Locked::open_launch_gate`].
    ///
    /// In job_begin and at adoption after a restart only: elsewhere `job_state` is not ours to write.
    pub fn raise_launch_gate(&mut self) {
        let layout = self.layout();
        let Some(details) = self.details() else { return };
        let field = layout.job_details.prolog_running;
        details.write(field, details.read(field).saturating_add(1));
        let state = self.state() | facts::JOB_CONFIGURING;
        self.record.write(layout.job_record.job_state, state);
    }

    /// Holds the job in COMPLETING until the gate is opened; see [`crate::locks::HostThread::open_completion_gate`].
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
        let soon = unsafe { libc::time(std::ptr::null_mut()) } + 2;
        details.write(field, details.read(field).max(soon));
    }

    /// Says when a pending job is expected to start, in seconds since the Unix epoch; after a WILL_RUN test only.
    pub fn expect_start(&mut self, time: i64) {
        self.record.write(self.layout().job_record.start_time, time);
    }

    /// Sets the text squeue shows as the reason.
    pub fn set_reason(&mut self, text: &str) {
        self.set_text(self.layout().job_record.state_desc, text);
    }

    /// The text squeue shows as the reason, if it is not just the reason's name.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.record.text(self.layout().job_record.state_desc)
    }

    /// Appends to `system_comment`, which `scontrol show job` and `sacct` show.
    pub fn add_system_comment(&mut self, text: &str) {
        let field = self.layout().job_record.system_comment;
        let all = match self.record.text(field) {
            Some(earlier) => format!("{earlier}; {text}"),
            None => text.to_owned(),
        };
        self.set_text(field, &all);
    }

    fn set_text(&mut self, field: Field<Text>, text: &str) {
        let call = &self.host.slurmctld.call;
        let text = c_string(text);
        let member: *mut *mut c_void = self.record.member(field).cast();
        // SAFETY: under the job write lock; the member is NULL or memory of Slurm's allocator, which
        // xfree takes back and sets to NULL, and xstrdup's result is of the same allocator.
        unsafe {
            (call.xfree)(member);
            member.write((call.xstrdup)(text.as_ptr()).cast());
        }
        self.touch();
    }

    /// Sets a variable that Slurm gives to the batch script, to salloc and to srun (`env_sup`).
    pub fn set_environment(&mut self, name: &str, value: &str) {
        let slot =
            self.env_sup().find(|slot| value_of(*slot, name).is_some()).or_else(|| self.grow_env_sup());
        let Some(slot) = slot else { return };
        let call = &self.host.slurmctld.call;
        let entry = c_string(&format!("{name}={value}"));
        // SAFETY: job write lock; the slot holds NULL or a string of Slurm's allocator, which xfree takes back,
        // and xstrdup's result is of the same allocator.
        unsafe {
            (call.xfree)(slot);
            slot.write((call.xstrdup)(entry.as_ptr()).cast());
        }
    }

    /// Takes a variable out of `env_sup`; it need not be there.
    pub fn remove_environment(&mut self, name: &str) {
        let slots: Vec<_> = self.env_sup().collect();
        let Some(place) = slots.iter().position(|slot| value_of(*slot, name).is_some()) else { return };
        let (Some(details), Some(last)) = (self.details(), slots.last()) else { return };
        // SAFETY: job write lock; the string is of Slurm's allocator. The last entry takes the freed place, and
        // the array, one shorter now, keeps its memory.
        unsafe {
            (self.host.slurmctld.call.xfree)(slots[place]);
            slots[place].swap(*last);
        }
        let field = self.layout().job_details.env_cnt;
        details.write(field, details.read(field).saturating_sub(1));
    }

    /// One more entry at the end of `env_sup`, still NULL.
    fn grow_env_sup(&mut self) -> Option<*mut *mut c_void> {
        let layout = &self.layout().job_details;
        let details = self.details()?;
        let count = details.read(layout.env_cnt);
        let new_count = count.checked_add(1)?;
        let array: *mut *mut *mut c_void = details.member(layout.env_sup).cast();
        let (file, function) = (c"slurm-vipu".as_ptr(), c"grow_env_sup".as_ptr());
        let bytes = size_of::<*mut c_void>();
        // SAFETY: job write lock; an array of Slurm's allocator, or NULL, which becomes one longer, its new end
        // cleared, as Slurm itself does for burst buffers.
        unsafe {
            let call = &self.host.slurmctld.call;
            (call.xrecalloc)(array.cast(), usize::from(new_count), bytes, true, false, file, 0, function);
            details.write(layout.env_cnt, new_count);
            Some((*array).add(usize::from(count)))
        }
    }

    /// Lets clients see that the job changed.
    fn touch(&mut self) {
        // SAFETY: job write lock, which guards last_job_update; time has no preconditions.
        unsafe { self.host.slurmctld.var.last_job_update.set(libc::time(std::ptr::null_mut())) };
    }
}

/// The value of an entry `name=value`.
fn value_of(slot: *mut *mut c_void, name: &str) -> Option<String> {
    // SAFETY: a slot of env_sup under the job lock: NULL or a C string.
    let entry = unsafe { crate::text::from_c(slot.read().cast()) }?;
    entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned)
}
