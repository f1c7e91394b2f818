//! Reads a job record, for as long as a lock protects it.

mod change;
mod checked;
mod environment;
pub(crate) mod script_variables;

use std::ptr::NonNull;

use slurm_release as facts;
use slurm_release::Layout;
use vipu_types::RunEnd;

use crate::record::{Record, list_items, members};
use crate::slurmctld::Host;

pub use change::JobMut;
pub(crate) use environment::remove_entries;

/// A job record under at least a job read lock.
#[derive(Clone, Copy)]
pub struct JobRef<'lock> {
    record: Record<'lock>,
    host: &'static Host,
}

impl<'lock> JobRef<'lock> {
    pub(crate) fn new(record: Record<'lock>, host: &'static Host) -> Self {
        Self { record, host }
    }

    pub(crate) fn record(self) -> Record<'lock> {
        self.record
    }

    pub(crate) fn host(self) -> &'static Host {
        self.host
    }

    pub(crate) fn layout(self) -> &'static Layout {
        self.host.layout
    }

    /// The time by which the job must have ended (`deadline`), in seconds since the Unix epoch
    pub fn deadline(self) -> Option<i64> {
        let deadline = self.record.read(self.layout().job_record.deadline);
        (deadline != 0 && deadline != i64::from(facts::NO_VAL)).then_some(deadline)
    }

    /// The longest time that the job may run once it has begun, in seconds: its time limit, that of its Slurm
    /// partition if it has none of its own, or a year, which Slurm takes for INFINITE.
    pub fn time_limit(self) -> i64 {
        const YEAR: i64 = 365 * 24 * 3600;
        let of_partition = || self.partition().map(|part| part.read(self.layout().part_record.max_time));
        let is_set = |minutes: &u32| ![facts::NO_VAL, facts::INFINITE].contains(minutes);
        let own = self.record.read(self.layout().job_record.time_limit);
        let limit = if own == facts::NO_VAL { of_partition() } else { Some(own) };
        limit.filter(is_set).map_or(YEAR, |minutes| i64::from(minutes) * 60)
    }

    /// Whether the job asks for an advance reservation: `resv_name`.
    pub fn is_in_reservation(self) -> bool {
        !self.record.text_pointer(self.layout().job_record.resv_name).is_null()
    }

    /// `PriorityTier` of the Slurm partition in which the job is tried.
    pub fn priority_tier(self) -> u16 {
        self.partition().map_or(0, |part| part.read(self.layout().part_record.priority_tier))
    }

    /// The name of the Slurm partition in which the job runs or is tried.
    pub fn slurm_partition(self) -> Option<String> {
        self.partition()?.text(self.layout().part_record.name)
    }

    /// An address that tells apart the Slurm partitions in which the job is tried. It is of no use after the
    /// lock is released.
    pub fn slurm_partition_address(self) -> usize {
        self.partition().map_or(0, |part| part.address().addr())
    }

    fn partition(self) -> Option<Record<'lock>> {
        // SAFETY: a change of partitions holds the job write lock too; the self-check looked at the member.
        unsafe { self.record.follow(self.layout().job_record.part_ptr) }
    }

    /// Whether backfill asks when the job can start.
    pub fn is_backfill_test(self) -> bool {
        self.has_flag(facts::BACKFILL_TEST)
    }

    /// Whether backfill tries the job, and not the main scheduler.
    pub fn is_tried_by_backfill(self) -> bool {
        /// `BACKFILL_SCHED`: backfill sets it before it tries a job, and the main scheduler clears it.
        const BACKFILL_SCHED: u64 = 1 << 32;
        self.record.read(self.layout().job_record.bit_flags) & BACKFILL_SCHED != 0
    }

    /// Whether tasks of a job array still have to be split off from this job. The next task to begin gets
    /// another job id.
    pub fn is_unsplit_array(self) -> bool {
        self.tasks_left() > 0
    }

    /// The tasks of a job array that still have to be split off from this job: `array_recs->task_cnt`. The
    /// last task keeps the record, with 0.
    pub fn tasks_left(self) -> u32 {
        let array = self.record.pointer(self.layout().job_record.array_recs).cast::<u32>();
        // SAFETY: under the job lock; NULL or a `job_array_struct_t`, which begins with `task_cnt` (SAFETY.md,
        // "Records").
        if array.is_null() { 0 } else { unsafe { array.read() } }
    }

    /// The job id of a job array and the id of its task, if the job is a task: `array_job_id` and
    /// `array_task_id`. While Slurm tries an array with unsplit tasks, the array's record has the id of the
    /// next task.
    pub fn array(self) -> Option<(u32, u32)> {
        let fields = &self.layout().job_record;
        let (array, task) = (self.record.read(fields.array_job_id), self.record.read(fields.array_task_id));
        (array != 0 && task != facts::NO_VAL).then_some((array, task))
    }

    /// Whether the scheduler only asks if the job could start right now.
    pub fn is_test_of_now(self) -> bool {
        self.has_flag(facts::TEST_NOW_ONLY)
    }

    fn has_flag(self, flag: u32) -> bool {
        self.record.read(self.layout().job_record.bit_flags) & u64::from(flag) != 0
    }

    /// Returns another job, under the same lock.
    pub fn other(self, id: u32) -> Option<JobRef<'lock>> {
        // SAFETY: this view stands for at least the job read lock, which find_job_record needs.
        let record = NonNull::new(unsafe { (self.host.slurmctld.call.find_job_record)(id) })?;
        // SAFETY: a live job_record_t under the lock of this view.
        Some(Self { record: unsafe { Record::new(record) }, host: self.host })
    }

    /// Returns the components of its heterogeneous job (`het_job_list`), the leader first, and none for another job.
    pub fn components(self) -> Vec<JobRef<'lock>> {
        if self.het_job() == 0 {
            return Vec::new();
        }
        let Some(leader) = self.other(self.het_job()) else { return Vec::new() };
        let list = leader.record.pointer(self.layout().job_record.het_job_list);
        // SAFETY: under at least the job read lock; NULL or a list of job records, which changes under the job write lock
        // only.
        let items = unsafe { list_items(self.host.slurmctld.call.list_for_each, list) }.unwrap_or_default();
        // SAFETY: live job records under the lock of this view.
        let component = |at| Self { record: unsafe { Record::new(at) }, host: self.host };
        items.into_iter().map(component).collect()
    }

    /// The options of SPANK plugins that begin with `beginning`, each as `name=value`, as Slurm keeps them
    /// with the job.
    pub fn options(self, beginning: &str) -> Vec<String> {
        let layout = &self.layout().job_record;
        self.record.texts(layout.spank_job_env, layout.spank_job_env_size, beginning)
    }

    /// The numbers of the job's nodes in Slurm's node table; none before the job begins.
    pub fn nodes(self) -> Vec<u32> {
        let bitmap = self.record.pointer(self.layout().job_record.node_bitmap);
        // SAFETY: under the job lock; NULL or a bitmap of the record.
        unsafe { self.host.slurmctld.call.bits(bitmap) }
    }

    /// The names of the job's nodes; none before the job begins. The node lock must be held, as in job_begin.
    pub fn node_names(self) -> Vec<String> {
        let numbers = self.nodes();
        // SAFETY: under the node lock (caller).
        unsafe { crate::node_table::names(self.host, &numbers) }
    }

    /// Whether `tres_per_node` names `vipu` at all. The check is cheap, for jobs that use no IPUs.
    pub fn mentions_vipu(self) -> bool {
        self.record.mentions(self.layout().job_record.tres_per_node, b"vipu")
    }

    pub(crate) fn state(self) -> u32 {
        self.record.read(self.layout().job_record.job_state)
    }

    fn base_state(self) -> u32 {
        self.state() & facts::JOB_STATE_BASE
    }

    /// Whether the base state is PENDING.
    pub fn is_pending(self) -> bool {
        self.base_state() == facts::JOB_PENDING
    }

    /// Whether the base state is RUNNING, with or without flags.
    pub fn is_running(self) -> bool {
        self.base_state() == facts::JOB_RUNNING
    }

    /// Whether the base state is SUSPENDED.
    pub fn is_suspended(self) -> bool {
        self.base_state() == facts::JOB_SUSPENDED
    }

    /// Whether the job is CONFIGURING: it has its nodes and may not start yet.
    pub fn is_configuring(self) -> bool {
        self.state() & facts::JOB_CONFIGURING != 0
    }

    /// Whether the job is COMPLETING: it has ended, and its nodes or its epilog are not done.
    pub fn is_completing(self) -> bool {
        self.state() & facts::JOB_COMPLETING != 0
    }

    /// The way in which the job ended. Its nodes were taken from it for good, unless the job is requeued.
    pub fn run_end(self) -> Option<RunEnd> {
        match self.base_state() {
            facts::JOB_COMPLETE => Some(RunEnd::Completed),
            facts::JOB_FAILED => Some(RunEnd::Failed(exit_code(self.exit_status()))),
            facts::JOB_TIMEOUT => Some(RunEnd::Otherwise("TIMEOUT")),
            facts::JOB_NODE_FAIL => Some(RunEnd::Otherwise("NODE_FAIL")),
            facts::JOB_BOOT_FAIL => Some(RunEnd::Otherwise("BOOT_FAIL")),
            facts::JOB_DEADLINE => Some(RunEnd::Otherwise("DEADLINE")),
            facts::JOB_OOM => Some(RunEnd::Otherwise("OUT_OF_MEMORY")),
            state => (state > facts::JOB_SUSPENDED).then_some(RunEnd::Cancelled),
        }
    }

    /// The time before which the job must not start (`begin_time`), in seconds since the Unix epoch.
    pub fn begin_time(self) -> i64 {
        self.details().map_or(0, |details| details.read(self.layout().job_details.begin_time))
    }

    /// The time at which the job was submitted, or last requeued (`submit_time`), in seconds since the Unix epoch.
    pub fn submit_time(self) -> i64 {
        self.details().map_or(0, |details| details.read(self.layout().job_details.submit_time))
    }

    /// Whether a node of the job has failed, is drained or does not answer. Processes of the job may still run
    /// there, although Slurm does not wait for them: slurmd drains a node on which it cannot end them. The node
    /// lock must be held, as in [`crate::locks::LockPermit::look_at`].
    pub fn has_lost_node(self) -> bool {
        [facts::JOB_NODE_FAIL, facts::JOB_BOOT_FAIL].contains(&self.base_state())
            || !self.nodes_are_available()
    }

    fn nodes_are_available(self) -> bool {
        let call = &self.host.slurmctld.call;
        // SAFETY: under the node lock (caller).
        let available = unsafe { self.host.slurmctld.var.avail_node_bitmap.get() };
        let own = self.record.pointer(self.layout().job_record.node_bitmap);
        if available.is_null() || own.is_null() {
            return false;
        }
        // SAFETY: under the job and node locks; two bitmaps of all nodes, which both functions only read.
        let (nodes, has) = unsafe {
            let nodes = (call.bit_size)(own).min((call.bit_size)(available));
            (nodes, |bitmap, node| (call.bit_test)(bitmap, node) != 0)
        };
        (0..nodes).all(|node| !has(own, node) || has(available, node))
    }

    /// Whether the job has a batch script, and neither its user nor the site has said `--no-requeue`.
    pub fn may_be_requeued(self) -> bool {
        self.is_batch() && self.is_requeue_allowed()
    }

    /// Whether neither the user nor the site has said `--no-requeue`.
    pub(crate) fn is_requeue_allowed(self) -> bool {
        self.details().is_some_and(|details| details.read(self.layout().job_details.requeue) != 0)
    }

    /// Whether the job waits for its turn: it is not held, and not behind a dependency or a limit, and its data are in its
    /// burst buffer. Slurm may have taken the reason from the code that refused the job
    /// ([`crate::differences::refused_start`]); backfill leaves none.
    pub fn waits_in_line(self) -> bool {
        let reasons = [
            facts::WAIT_NO_REASON,
            facts::WAIT_RESOURCES,
            facts::WAIT_PRIORITY,
            facts::WAIT_LICENSES,
            facts::WAIT_NODE_NOT_AVAIL,
        ];
        // The main scheduler comes up to a minute after the data.
        let of_burst_buffer = [facts::WAIT_BURST_BUFFER_RESOURCE, facts::WAIT_BURST_BUFFER_STAGING];
        let reason = self.state_reason();
        let is_turn = match self.burst_buffer_state() {
            b"" => reasons.contains(&reason),
            b"staged-in" => reasons.contains(&reason) || of_burst_buffer.contains(&reason),
            _ => false,
        };
        self.is_pending() && self.priority() != 0 && is_turn
    }

    /// The state of the job's burst buffer, one of those in burst_buffer_common.c; empty without one.
    fn burst_buffer_state(self) -> &'lock [u8] {
        self.record.bytes(self.layout().job_record.burst_buffer_state).unwrap_or_default()
    }

    /// Whether the job's burst buffer is prepared for its run. `slurm_bb_pre_run` begins when the nodes are ready, which
    /// Slurm asks once a minute. It needs no IPUs, and the launch waits for both.
    pub fn is_in_pre_run(self) -> bool {
        self.burst_buffer_state() == b"pre-run"
    }

    /// The reason that squeue shows for a waiting job: a text, or else the name of Slurm's reason. None if it
    /// has no reason yet.
    pub fn shown_reason(self) -> Option<String> {
        let name = || Some(self.state_reason()).filter(|reason| *reason != facts::WAIT_NO_REASON);
        let text = self.reason().filter(|text| !text.is_empty());
        text.or_else(|| crate::differences::reason_name(name()?))
    }

    /// Whether no node of the job has anything left to do for it.
    pub fn nodes_done(self) -> bool {
        let bitmap = self.record.pointer(self.layout().job_record.node_bitmap_cg);
        // SAFETY: under the job lock; a bitmap of the record, which bit_ffs only reads.
        bitmap.is_null() || unsafe { (self.host.slurmctld.call.bit_ffs)(bitmap) } < 0
    }

    /// Whether the job shares its nodes with no job, or only with jobs of its own user: `whole_node`. Slurm
    /// sets it before it looks for nodes, also for Slurm partitions that require it.
    pub fn takes_whole_nodes(self) -> bool {
        let whole = |details: Record<'_>| details.read(self.layout().job_details.whole_node) != 0;
        self.details().is_some_and(whole)
    }

    pub(crate) fn details(self) -> Option<Record<'lock>> {
        // SAFETY: `details` is covered by the job lock and is a job_details_t.
        unsafe { self.record.follow(self.layout().job_record.details) }
    }
}

members! { Self, job_record, JobRef<'_>:
    /// `job_id`
    id: read job_id -> u32;
    /// `user_id`
    user: read user_id -> u32;
    /// `restart_cnt`
    restart_count: read restart_cnt -> u16;
    /// `start_time`, in seconds since the Unix epoch
    start_time: read start_time -> i64;
    /// `end_time`: the time at which a running job reaches its time limit, in seconds since the Unix epoch
    end_time: read end_time -> i64;
    /// `priority`; 0 for a job that is held
    priority: read priority -> u32;
    /// `state_reason`
    state_reason: read state_reason -> u32;
    /// The leader of the heterogeneous job of which this job is a part, or 0.
    het_job: read het_job_id -> u32;
    /// The place of the job in its heterogeneous job: `het_job_offset`, 0 for the leader and for other jobs.
    het_offset: read het_job_offset -> u32;
    /// The node that runs the batch script, once the job has nodes: `batch_host`
    batch_host: text batch_host -> Option<String>;
    /// The wait status of a job that has ended: `exit_code`
    exit_status: read exit_code -> u32;
    /// `account`
    account: text account -> Option<String>;
    /// `name`, which the user chooses
    name: text name -> Option<String>;
    /// The names of all Slurm partitions in which the job may run: `partition`, for example `batch,ipu`.
    slurm_partitions: text partition -> Option<String>;
    /// `system_comment`
    system_comment: text system_comment -> Option<String>;
    /// The text that squeue shows as the reason, if it is not just the reason's name.
    reason: text state_desc -> Option<String>;
    /// The job's GRES request as Slurm keeps it: `tres_per_node`, for example `gres:vipu:pod64:16`.
    tres_per_node: text tres_per_node -> Option<String>;
    /// The licences that the job asks for: `licenses`, for example `vipu:16,matlab:1`.
    licenses: text licenses -> Option<String>;
    /// Whether the job has a script to launch.
    is_batch: is_set batch_flag -> bool;
    /// Whether the job's srun or salloc listens for news of its nodes: `alloc_resp_port`. With `--immediate`,
    /// or `--immediate=1`, it does not listen, and the job ends at its first refusal (allocate.c, 22.05 to
    /// 26.05).
    is_awaited: is_set alloc_resp_port -> bool;
    /// Whether the job was told to make room for another.
    is_being_preempted: is_set preempt_time -> bool;
}

/// The exit code that a shell reports for a wait status.
fn exit_code(status: u32) -> u8 {
    let [_, _, code, signal] = status.to_be_bytes();
    match signal & 0x7f {
        0 => code,
        signal => 128 + signal,
    }
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn user_requeue_sees_the_exit_code_of_a_shell() {
        for (status, code) in [(0, 0), (42 << 8, 42), (255 << 8, 255), (11, 139), (9 | 0x80, 137)] {
            assert_eq!(exit_code(status), code, "{status:#x}");
        }
    }
}
